// Code block with syntax highlighting and a copy button.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { toOneLine } from "../text/escape-controls";
import { plural, t } from "../text/translate";
import { CopyButton } from "./controls";

type Highlighter = typeof import("../text/highlighter").highlighter;

/** The highlighter, once it is loaded. */
const highlighter = signal<Highlighter | null>(null);
let isLoading = false;

function loadHighlighter(): void {
  if (isLoading) return;
  isLoading = true;
  import("../text/highlighter").then(
    (module) => (highlighter.value = module.highlighter),
    () => (isLoading = false), // the code stays plain; the next block tries again
  );
}

/** Longer code is not highlighted, because parsing it would block the page. */
const MAX_HIGHLIGHTED_CHARACTERS = 20_000;
/** Lines of long code that are shown initially. */
const INITIAL_LINES = 400;

/** `plain` disables highlighting, for code that is still streamed. */
export function CodeBlock({ text, language, plain = false }: { text: string; language: string; plain?: boolean }): JSX.Element {
  const [showAll, setShowAll] = useState(false);
  const name = toOneLine(language.split(/\s/u)[0] ?? "", 30).toLowerCase();
  const shown = useMemo(() => (showAll ? text : firstLines(text, INITIAL_LINES)), [text, showAll]);
  const isWanted = !plain && name !== "" && shown.length <= MAX_HIGHLIGHTED_CHARACTERS;
  useEffect(() => {
    if (isWanted) loadHighlighter();
  }, [isWanted]);
  const loaded = isWanted && highlighter.value?.registered(name) ? highlighter.value : null;
  const content = useMemo(() => (loaded === null ? shown : renderNodes(loaded.highlight(name, shown).children as Node[])), [shown, loaded, name]);
  return (
    <figure class="code">
      <figcaption>
        <span>{name || t("text")}</span>
        <CopyButton text={text} label={t("Copy code")} />
      </figcaption>
      <pre tabIndex={0} role="group" aria-label={t("code, {name}", { name: name || t("text") })}>
        <code>{content}</code>
      </pre>
      {shown !== text && (
        <button type="button" class="quiet" onClick={() => setShowAll(true)}>
          {plural(text.split("\n").length, "Show the line", "Show all {count} lines")}
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
