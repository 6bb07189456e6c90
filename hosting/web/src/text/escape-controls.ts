// Escaping of control, bidirectional and invisible characters in untrusted text.
import { t } from "./translate";

// Bidirectional overrides and isolates, which change the displayed order of a text.
const BIDI = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/gu;
// Control characters except tab and line feed.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu;
const INVISIBLE = /[\u200b\u2060\ufeff\u{e0000}-\u{e007f}]/gu;

/** Marks on one letter that are shown; browsers need quadratic time to draw more, and no script has so many. */
export const MAX_MARKS = 16;
const EXCESS_MARKS = new RegExp(`(\\p{M}{${MAX_MARKS}})(\\p{M}+)`, "gu");

/** Replaces control and invisible characters, and heaps of combining marks, with visible symbols. */
export function escapeControls(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROL, toControlPicture).replace(BIDI, toCodePoint).replace(INVISIBLE, toCodePoint).replace(EXCESS_MARKS, toMarkCount);
}

/** Escapes a text, joins its lines, and truncates it to a number of characters. */
export function toOneLine(text: string, limit = 200): string {
  const line = escapeControls(text).replace(/\s+/gu, " ").trim();
  const characters = Array.from(line);
  return characters.length <= limit ? line : `${characters.slice(0, limit - 1).join("")}…`;
}

function toMarkCount(_: string, kept: string, excess: string): string {
  return `${kept}‹${t("{count} more marks", { count: Array.from(excess).length })}›`;
}

function toControlPicture(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : toCodePoint(character);
}

function toCodePoint(character: string): string {
  return `‹${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`;
}
