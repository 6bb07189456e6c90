// Text of models, tools and people, so that nothing in it acts: what cannot be seen is shown.

// Overrides and isolates of direction, which make a text read otherwise than it is.
const BIDI = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/gu;
// Control characters but tab and line feed; a terminal would obey some of them.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/gu;
const HIDDEN = /[\u200b\u2060\ufeff\u{e0000}-\u{e007f}]/gu;

/** The text with signs in place of what would act or hide. */
export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(CONTROL, pictured).replace(BIDI, numbered).replace(HIDDEN, numbered);
}

/** The same, on one line, cut at a number of characters. */
export function onOneLine(text: string, most = 200): string {
  const line = visible(text).replace(/\s+/gu, " ").trim();
  const signs = Array.from(line);
  return signs.length <= most ? line : `${signs.slice(0, most - 1).join("")}…`;
}

function pictured(sign: string): string {
  const code = sign.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : numbered(sign);
}

function numbered(sign: string): string {
  return `‹${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`;
}
