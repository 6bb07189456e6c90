// Code block with syntax highlighting and a copy button.
import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { createLowlight } from "lowlight";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { toOneLine } from "../text/escape-controls";
import { CopyButton } from "./controls";

const highlighter = createLowlight({ bash, cpp, csharp, css, diff, go, ini, java, json, python, rust, sql, typescript, xml, yaml });
highlighter.registerAlias({ typescript: ["javascript", "js", "jsx", "ts", "tsx"], bash: ["sh", "shell", "console", "zsh"], cpp: ["c"] });

/** Longer code is not highlighted, because parsing it would block the page. */
const MAX_HIGHLIGHTED_CHARACTERS = 20_000;
/** Lines of long code that are shown initially. */
const INITIAL_LINES = 400;

/** `plain` disables highlighting, for code that is still streamed. */
export function CodeBlock({ text, language, plain = false }: { text: string; language: string; plain?: boolean }): JSX.Element {
  const [showAll, setShowAll] = useState(false);
  const name = toOneLine(language.split(/\s/u)[0] ?? "", 30).toLowerCase();
  const shown = useMemo(() => (showAll ? text : firstLines(text, INITIAL_LINES)), [text, showAll]);
  const highlighted = !plain && highlighter.registered(name) && shown.length <= MAX_HIGHLIGHTED_CHARACTERS;
  const content = useMemo(() => (highlighted ? renderNodes(highlighter.highlight(name, shown).children as Node[]) : shown), [shown, highlighted, name]);
  return (
    <figure class="code">
      <figcaption>
        <span>{name || "text"}</span>
        <CopyButton text={text} what="code" />
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={`code, ${name || "text"}`}>
        <code>{content}</code>
      </pre>
      {shown !== text && (
        <button type="button" class="quiet" onClick={() => setShowAll(true)}>
          Show all {text.split("\n").length} lines
        </button>
      )}
    </figure>
  );
}

interface Node {
  type: string;
  value?: string;
  properties?: { className?: string[] };
  children?: Node[];
}

function renderNodes(children: Node[]): ComponentChildren {
  return children.map((node, key) =>
    node.type === "text" ? (
      node.value
    ) : (
      <span key={key} class={node.properties?.className?.join(" ")}>
        {renderNodes(node.children ?? [])}
      </span>
    ),
  );
}

function firstLines(text: string, count: number): string {
  let at = -1;
  for (let line = 0; line < count; line++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return text;
  }
  return text.slice(0, at);
}
