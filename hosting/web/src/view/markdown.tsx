// Markdown as elements of the page: no text ever becomes HTML, so that nothing a model writes can act.
import { memo } from "preact/compat";
import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { settledBlocks } from "../text/blocks";
import { safeLink } from "../text/links";
import { visible } from "../text/visible";
import { Code } from "./code";

/** A text; while it is `growing`, only its last block is read again with every piece. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }): JSX.Element {
  const pieces = growing ? settledBlocks(text) : [text];
  return (
    <div class="markdown">
      {pieces.map((piece, index) => (
        <Piece key={index} text={piece} growing={growing && index === pieces.length - 1} />
      ))}
    </div>
  );
}

const Piece = memo(function Piece({ text, growing }: { text: string; growing: boolean }): JSX.Element {
  return <>{blocks(lexer(visible(text), { gfm: true }), growing)}</>;
});

function blocks(tokens: Token[] | undefined, growing = false): ComponentChildren {
  return tokens?.map((token, index) => block(token, index, growing));
}

function block(token: Token, key: number, growing: boolean): ComponentChildren {
  switch (token.type) {
    case "heading": {
      // The page has its own headings; those of an answer are below them.
      const Heading = `h${Math.min((token as Tokens.Heading).depth + 1, 6)}` as "h2";
      return <Heading key={key}>{spans(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p key={key}>{spans(token.tokens)}</p>;
    case "code":
      return <Code key={key} text={token.text} language={token.lang ?? ""} plain={growing} />;
    case "blockquote":
      return <blockquote key={key}>{blocks(token.tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List, key);
    case "table":
      return table(token as Tokens.Table, key);
    case "hr":
      return <hr key={key} />;
    case "space":
    case "def":
      return null;
    case "text":
      return token.tokens ? <span key={key}>{spans(token.tokens)}</span> : plain(token.text);
    default: // raw HTML, and what another version of the parser may know: shown as it was written
      return <p key={key}>{token.raw}</p>;
  }
}

function list(token: Tokens.List, key: number): JSX.Element {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? "done" : "not done"} />}
      {blocks(item.tokens)}
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

function table(token: Tokens.Table, key: number): JSX.Element {
  const cells = (row: Tokens.TableCell[], Cell: "th" | "td"): JSX.Element[] =>
    row.map((cell, index) => (
      <Cell key={index} class={cell.align ? `to-${cell.align}` : undefined}>
        {spans(cell.tokens)}
      </Cell>
    ));
  return (
    <div class="table" key={key} tabIndex={0} role="region" aria-label="table">
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

function spans(tokens: Token[] | undefined): ComponentChildren {
  return tokens?.map((token, key) => span(token, key));
}

function span(token: Token, key: number): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong key={key}>{spans(token.tokens)}</strong>;
    case "em":
      return <em key={key}>{spans(token.tokens)}</em>;
    case "del":
      return <del key={key}>{spans(token.tokens)}</del>;
    case "codespan":
      return <code key={key}>{token.text}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return token.raw === token.text ? bare(token.raw, key) : link(token.href, spans(token.tokens), key);
    case "image": // not fetched: whoever serves it would learn that it was read
      return link(token.href, `[image: ${token.text || token.href}]`, key);
    case "escape":
      return token.text;
    case "text":
      return token.tokens ? <span key={key}>{spans(token.tokens)}</span> : plain(token.text);
    default:
      return token.raw;
  }
}

function link(address: string, shown: ComponentChildren, key: number): ComponentChildren {
  const safe = safeLink(address);
  if (safe === null) return <span key={key}>{shown}</span>;
  return (
    <a key={key} href={safe} title={safe} target="_blank" rel="noopener noreferrer nofollow">
      {shown}
    </a>
  );
}

const BEHIND = /[“”„‘’»«…。，、）]+[^/]*$/u;

/** An address that just stands there: quotation marks behind it, which the parser takes along, are none of it. */
function bare(text: string, key: number): ComponentChildren {
  const address = text.replace(BEHIND, "");
  const full = /^[a-z]+:/iu.test(address) ? address : address.includes("@") ? `mailto:${address}` : `http://${address}`;
  return [link(full, address, key), text.slice(address.length)];
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** The parser escapes for HTML what it hands out as text in some places; here no HTML is made of it. */
function plain(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/gu, (_, name: string) => ENTITIES[name] ?? _);
}
