// Footnotes in Markdown: `[^1]` in a line, and `[^1]: text` at the beginning of a block, as GitHub has them.
import type { Token, TokenizerThis } from "marked";

export interface FootnoteReferenceToken {
  type: "footnoteReference";
  raw: string;
  label: string;
}

export interface FootnoteToken {
  type: "footnote";
  raw: string;
  label: string;
  tokens: Token[];
}

const LABEL = String.raw`\[\^([^\]\[\s^]{1,64})\]`;
const REFERENCE = new RegExp(`^${LABEL}`, "u");
// Its first line, and those that follow it without a blank line before them, unless they begin the next footnote.
const DEFINITION = new RegExp(String.raw`^ {0,3}${LABEL}:[ \t]*([^\n]*(?:\n(?![ \t]*\n| {0,3}\[\^)[^\n]+)*)(?:\n+|$)`, "u");

function readReference(source: string): FootnoteReferenceToken | undefined {
  const found = REFERENCE.exec(source);
  return found === null ? undefined : { type: "footnoteReference", raw: found[0], label: found[1]! };
}

function readDefinition(this: TokenizerThis, source: string): FootnoteToken | undefined {
  const found = DEFINITION.exec(source);
  if (found === null) return undefined;
  const token: FootnoteToken = { type: "footnote", raw: found[0], label: found[1]!, tokens: [] };
  this.lexer.blockTokens(found[2]!, token.tokens);
  return token;
}

/** Extensions of the parser; it stops at each bracket by itself, so that they need no search for a beginning. */
export const FOOTNOTE_EXTENSIONS = { inline: [readReference], block: [readDefinition] };

const FENCED = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[^]*?(?:^ {0,3}\1[^\n]*$|(?![^]))/gmu;
const CODE = /`[^`\n]*`/gu;
const ANY = new RegExp(`^( {0,3})${LABEL}:|${LABEL}`, "gmu");

/** The numbers of the footnotes of a text by their labels, in the order of the references; without those that lack a text. */
export function numberFootnotes(text: string): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  if (!text.includes("[^")) return numbers;
  const defined = new Set<string>();
  const referenced = new Set<string>();
  for (const [, , definition, reference] of text.replace(FENCED, "").replace(CODE, "").matchAll(ANY)) {
    if (definition !== undefined) defined.add(definition);
    else referenced.add(reference!);
  }
  for (const label of referenced) if (defined.has(label)) numbers.set(label, numbers.size + 1);
  return numbers;
}
