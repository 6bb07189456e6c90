// Markdown parser with bounded work: the parser's own is recursive in nesting and quadratic in emphasis and links.
import { Lexer, type Token, type TokensList } from "marked";
import { FOOTNOTE_EXTENSIONS } from "./footnote-tokens";
import { MATH_EXTENSIONS } from "./math-tokens";

/** Levels of quotes and lists; what is nested more deeply is shown as text. */
export const MAX_NESTING = 40;

/** Delimiters of one paragraph; of a paragraph with more of them nothing is interpreted. */
export const MAX_DELIMITERS = 1000;

/** Characters of an address; of a paragraph with a longer one nothing is interpreted. */
export const MAX_URL = 2000;
/** The same where an @ makes every word a possible e-mail address. */
export const MAX_MAIL = 500;

const DELIMITER = /[[\]*_~`<!&\\$]|:\/\/|@|www\./giu;
const URL_START = /:\/\/|www\./iu;
const URL_WORD = /[^\s<]+/gu;
const MAIL_WORD = /[a-z0-9.!#$%&'*+/=?^_`{|}~-]+/giu;

const EXTENSIONS = {
  ...MATH_EXTENSIONS,
  inline: [...MATH_EXTENSIONS.inline, ...FOOTNOTE_EXTENSIONS.inline],
  block: [...MATH_EXTENSIONS.block, ...FOOTNOTE_EXTENSIONS.block],
};

/** Parses a text; the time is linear in its length. */
export function parseMarkdown(text: string): TokensList {
  return new BoundedLexer({ gfm: true, extensions: EXTENSIONS }).lex(text);
}

class BoundedLexer extends Lexer {
  private depth = 0;

  override blockTokens(src: string, tokens: Token[] = [], lastParagraphClipped?: boolean): TokensList {
    if (this.depth >= MAX_NESTING) {
      if (src !== "") tokens.push(plainText(src));
      return tokens as TokensList;
    }
    this.depth += 1;
    try {
      return super.blockTokens(src, tokens, lastParagraphClipped) as TokensList;
    } finally {
      this.depth -= 1;
    }
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if (isBounded(src)) return super.inlineTokens(src, tokens);
    tokens.push(plainText(src));
    return tokens;
  }
}

/** Whether the work of the parser, which is quadratic in delimiters and in the length of addresses, is bounded. */
function isBounded(src: string): boolean {
  if ((src.match(DELIMITER)?.length ?? 0) > MAX_DELIMITERS) return false;
  if (URL_START.test(src) && hasLonger(src, URL_WORD, MAX_URL)) return false;
  return !(src.includes("@") && hasLonger(src, MAIL_WORD, MAX_MAIL));
}

function hasLonger(src: string, word: RegExp, limit: number): boolean {
  for (const [found] of src.matchAll(word)) if (found.length > limit) return true;
  return false;
}

/** A token that shows the source; in a text token the parser escapes HTML, and the page reverts that. */
function plainText(src: string): Token {
  return { type: "text", raw: src, text: src.replace(/&/gu, "&amp;"), escaped: true };
}
