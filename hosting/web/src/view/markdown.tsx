// Markdown rendered as elements; no text is ever parsed as HTML, so model output cannot run code.
import { memo } from "preact/compat";
import { useMemo, useState } from "preact/hooks";
import type { Token, Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { parseMarkdown } from "../text/bounded-lexer";
import { splitBlocks } from "../text/markdown-blocks";
import { splitPortions, type Portion } from "../text/text-portions";
import type { FootnoteReferenceToken, FootnoteToken } from "../text/footnote-tokens";
import type { MathToken } from "../text/math-tokens";
import { safeLink } from "../text/safe-links";
import { directionOf } from "../text/direction";
import { escapeControls } from "../text/escape-controls";
import { plural, t } from "../text/translate";
import { CodeBlock } from "./code-block";
import { FootnoteDefinition, FootnoteReference, FootnotesContext, useFootnotes } from "./footnotes";
import { Formula } from "./formula";

/**
 * A text. Of a very long one the first portion is shown, and the rest on demand; while it is `streaming`, the last one
 * too, and only its last block is parsed again.
 */
export function Markdown({ text, streaming = false }: { text: string; streaming?: boolean }): JSX.Element {
  const [shown, setShown] = useState(1);
  const portions = useMemo(() => splitPortions(text), [text]);
  const last = portions.length - 1;
  const hidden = last + 1 - shown - (streaming ? 1 : 0);
  const footnotes = useFootnotes(text);
  return (
    <FootnotesContext.Provider value={footnotes}>
      <div class="markdown" dir={directionOf(text)} lang="">
        {portions.slice(0, shown).map((portion, index) => (
          <MarkdownPortion key={index} text={portion.text} plain={portion.plain} streaming={streaming && index === last} />
        ))}
        {hidden > 0 && (
          <button type="button" class="quiet" aria-expanded={false} onClick={() => setShown(shown + 1)}>
            {plural(hidden, "Show more of this long text ({count} part)", "Show more of this long text ({count} parts)")}
          </button>
        )}
        {streaming && last >= shown && <MarkdownPortion key={last} text={portions[last]!.text} plain={portions[last]!.plain} streaming />}
      </div>
    </FootnotesContext.Provider>
  );
}

type PortionProps = Portion & { streaming: boolean };

const MarkdownPortion = memo(function Part({ text, plain, streaming }: PortionProps): JSX.Element {
  if (plain) return <CodeBlock text={escapeControls(text)} language="" plain />;
  const blocks = streaming ? splitBlocks(text) : [text];
  return (
    <>
      {blocks.map((block, index) => (
        <MarkdownBlock key={index} text={block} growing={streaming && index === blocks.length - 1} />
      ))}
    </>
  );
});

const MarkdownBlock = memo(function Piece({ text, growing }: { text: string; growing: boolean }): JSX.Element {
  return <>{renderBlocks(parseMarkdown(escapeControls(text)), growing)}</>;
});

function renderBlocks(tokens: Token[] | undefined, growing = false): ComponentChildren {
  return tokens?.map((token, index) => renderBlock(token, index, growing));
}

function renderBlock(token: Token, key: number, growing: boolean): ComponentChildren {
  switch (token.type) {
    case "heading": {
      // Below the page's own heading and that of the turn.
      const Heading = `h${Math.min((token as Tokens.Heading).depth + 2, 6)}` as "h3";
      return <Heading key={key}>{renderInlines(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p key={key}>{renderInlines(token.tokens)}</p>;
    case "code":
      return <CodeBlock key={key} text={token.text} language={token.lang ?? ""} plain={growing} />;
    case "blockquote":
      return <blockquote key={key}>{renderBlocks(token.tokens)}</blockquote>;
    case "list":
      return renderList(token as Tokens.List, key);
    case "table":
      return renderTable(token as Tokens.Table, key);
    case "hr":
      return <hr key={key} />;
    case "math":
      return <Formula key={key} tex={token.text} isBlock />;
    case "footnote":
      return (
        <FootnoteDefinition key={key} token={token as FootnoteToken}>
          {renderBlocks(token.tokens)}
        </FootnoteDefinition>
      );
    case "space":
    case "def":
    case "checkbox": // rendered by the list
      return null;
    case "text":
      return token.tokens ? <span key={key}>{renderInlines(token.tokens)}</span> : unescapeHtml(token.text);
    default: // raw HTML and unknown tokens are shown as source text
      return <p key={key}>{token.raw}</p>;
  }
}

function renderList(token: Tokens.List, key: number): JSX.Element {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? t("done") : t("not done")} />}
      {renderBlocks(item.tokens)}
    </li>
  ));
  return token.ordered ? (
    <ol key={key} start={typeof token.start === "number" ? token.start : 1}>
      {items}
    </ol>
  ) : (
    <ul key={key}>{items}</ul>
  );
}

function renderTable(token: Tokens.Table, key: number): JSX.Element {
  const cells = (row: Tokens.TableCell[], Cell: "th" | "td"): JSX.Element[] =>
    row.map((cell, index) => (
      <Cell key={index} class={cell.align ? `to-${cell.align}` : undefined}>
        {renderInlines(cell.tokens)}
      </Cell>
    ));
  return (
    <div class="table" key={key} tabIndex={0} role="group" aria-label={t("table")}>
      <table>
        <thead>
          <tr>{cells(token.header, "th")}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function renderInlines(tokens: Token[] | undefined): ComponentChildren {
  return tokens?.map((token, key) => renderInline(token, key));
}

function renderInline(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong key={key}>{renderInlines(token.tokens)}</strong>;
    case "em":
      return <em key={key}>{renderInlines(token.tokens)}</em>;
    case "del":
      return <del key={key}>{renderInlines(token.tokens)}</del>;
    case "codespan":
      return <code key={key}>{token.text}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return token.raw === token.text ? renderBareUrl(token.raw, key) : renderLink(token.href, renderInlines(token.tokens), key);
    case "image": // not loaded: fetching it would reveal to its server that the answer was read
      return renderLink(token.href, t("[image: {name}]", { name: token.text || token.href }), key);
    case "math":
      return <Formula key={key} tex={token.text} isBlock={(token as unknown as MathToken).isBlock} />;
    case "footnoteReference":
      return <FootnoteReference key={key} token={token as FootnoteReferenceToken} />;
    case "escape":
      return token.text;
    case "checkbox":
      return null;
    case "text":
      return token.tokens ? <span key={key}>{renderInlines(token.tokens)}</span> : unescapeHtml(token.text);
    default:
      return token.raw;
  }
}

function renderLink(address: string, shown: ComponentChildren, key: number): ComponentChildren {
  const safe = safeLink(address);
  if (safe === null) return <span key={key}>{shown}</span>;
  return (
    <a key={key} href={safe} title={safe} target="_blank" rel="noopener noreferrer nofollow">
      {shown}
    </a>
  );
}

const TRAILING_PUNCTUATION = /[“”„‘’»«…。，、）]+[^/]*$/u;

/** A bare URL, without the trailing punctuation that the parser includes. */
function renderBareUrl(text: string, key: number): ComponentChildren {
  const address = text.replace(TRAILING_PUNCTUATION, "");
  const full = /^[a-z]+:/iu.test(address) ? address : address.includes("@") ? `mailto:${address}` : `http://${address}`;
  return [renderLink(full, address, key), text.slice(address.length)];
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** Reverts the HTML escapes that the parser applies to some text tokens. */
function unescapeHtml(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/gu, (_, name: string) => ENTITIES[name] ?? _);
}
