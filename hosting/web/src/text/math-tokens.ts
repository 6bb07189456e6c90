// Mathematics in Markdown: `$x$` and `\\(x\\)` in a line, `$$x$$` and `\\[x\\]` as a block.
import type { TokenizerThis, Tokens } from "marked";

export interface MathToken {
  type: "math";
  raw: string;
  /** The formula as TeX, without its delimiters. */
  text: string;
  isBlock: boolean;
}

/** Longer ones are shown as they were written. */
const MAX_INLINE = 400;
const MAX_BLOCK = 4_000;

// A dollar sign before a space, after one, or before a digit is money: "$5 and $10".
const INLINE = new RegExp(String.raw`^(?:\$(?![\s$])([^$\n]{1,${MAX_INLINE}}?)(?<![\s\\])\$(?![\d$])|\\\(([^\n]{1,${MAX_INLINE}}?)\\\))`, "u");
const DISPLAYED = String.raw`(?:\$\$([^$]{1,${MAX_BLOCK}}?)\$\$|\\\[([\s\S]{1,${MAX_BLOCK}}?)\\\])`;
const BLOCK = new RegExp(String.raw`^ {0,3}${DISPLAYED}[ \t]*(?:\n+|$)`, "u");
const WITHIN_PARAGRAPH = new RegExp(`^${DISPLAYED}`, "u");
const START = /\$|\\[([]/u;

function tokenizer(pattern: RegExp, isBlock: boolean) {
  return function (this: TokenizerThis, source: string): MathToken | undefined {
    const found = pattern.exec(source);
    const text = (found?.[1] ?? found?.[2] ?? "").trim();
    return found === null || text === "" ? undefined : { type: "math", raw: found[0], text, isBlock };
  };
}

function findStart(source: string): number | undefined {
  const at = source.search(START);
  return at < 0 ? undefined : at;
}

/** Extensions of the parser that make MathTokens. No block ends a paragraph: the parser would read the rest each time. */
export const MATH_EXTENSIONS = {
  renderers: {},
  childTokens: {},
  inline: [tokenizer(WITHIN_PARAGRAPH, true), tokenizer(INLINE, false)],
  block: [tokenizer(BLOCK, true)],
  startInline: [findStart],
};

export function isMath(token: Tokens.Generic): token is MathToken {
  return token.type === "math";
}
