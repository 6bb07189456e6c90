// Memory page: what is remembered of the user, to search, correct and forget; and the workspace files.
import { definePage } from "../../model/page";
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { formatTime } from "../../text/format";
import { t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { correctMemoryEntry, deleteMemoryEntry, searchMemory } from "../../wire/operations";
import type { MemoryView } from "../../wire/types";
import { ActionButton } from "../../view/controls";
import { EmptyState, useLoaded } from "../../view/loaded-items";
import { WorkspaceFiles } from "./workspace-files";

export const memoryPage = definePage({ name: "memory", title: () => t("Memory"), icon: "memory", View: MemoryPage });

const MAX_ITEMS = 200;

function MemoryPage(): JSX.Element {
  const [search, setSearch] = useState("");
  const [found, reload] = useLoaded(searchMemory, { q: search, limit: MAX_ITEMS });
  return (
    <section class="info-page">
      <h2>{t("Memory")}</h2>
      <p class="hint">{t("What the agent remembers of you across conversations. What you correct is trusted from then on.")}</p>
      <label class="wide-field">
        {t("Search")}
        <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </label>
      {found?.items.length === 0 &&
        (search === "" ? (
          <EmptyState title={t("Nothing is remembered yet.")}>{t("Say “remember that …” in a conversation; the agent also keeps facts that it learns.")}</EmptyState>
        ) : (
          <p class="empty">{t("Nothing that is remembered fits.")}</p>
        ))}
      <ul class="rows">{found?.items.map((item) => <Entry key={item.id} item={item} onChange={reload} />)}</ul>
      <WorkspaceFiles />
    </section>
  );
}

function Entry({ item, onChange }: { item: MemoryView; onChange: () => void }): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const forget = async (): Promise<void> => {
    if (await reportErrors(() => call(deleteMemoryEntry, { entry_id: item.id }))) onChange();
  };
  const correct = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await reportErrors(() => call(correctMemoryEntry, { entry_id: item.id, text: text ?? "" }))) {
      setText(null);
      onChange();
    }
  };
  return (
    <li>
      {text === null ? (
        <p>{escapeControls(item.text)}</p>
      ) : (
        <form onSubmit={(event) => void correct(event)} onKeyDown={(event) => event.key === "Escape" && setText(null)}>
          <label>
            <span class="off-screen">{t("What is right")}</span>
            <textarea rows={2} value={text} maxLength={4000} onInput={(event) => setText(event.currentTarget.value)} ref={(area) => area?.focus()} />
          </label>
          <div class="buttons">
            <button type="submit" class="primary" disabled={text.trim() === ""}>{t("Save")}</button>
            <button type="button" onClick={() => setText(null)}>{t("Cancel")}</button>
          </div>
        </form>
      )}
      <div class="row-end">
        <span class="hint">
          {toOneLine(item.category, 30)}{item.created_at !== null && <> · <time dateTime={item.created_at}>{formatTime(item.created_at)}</time></>}
          {item.trusted ? "" : ` · ${item.sources?.length ? t("from {sources}", { sources: toOneLine(item.sources.join(", "), 80) }) : t("from an untrusted text")}`}
        </span>
        {text === null && <button type="button" class="quiet" onClick={() => setText(item.text)} aria-label={t("Correct: {text}", { text: toOneLine(item.text, 60) })}>{t("Correct…")}</button>}
        <ActionButton label={t("Forget: {text}", { text: toOneLine(item.text, 60) })} action={forget}>{t("Forget")}</ActionButton>
      </div>
    </li>
  );
}
