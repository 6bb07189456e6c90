// Workspace files on the memory page: texts that stand in each prompt, to read and edit.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { escapeControls } from "../../text/escape-controls";
import { errorText, type ErrorText } from "../../text/error-text";
import { formatNumber } from "../../text/format";
import { t } from "../../text/translate";
import { ApiError, call } from "../../wire/http-api";
import { listWorkspaceFiles, readWorkspaceFile, saveWorkspaceFile } from "../../wire/operations";
import type { ListedWorkspaceFile, WorkspaceFile } from "../../wire/types";
import { Disclosure } from "../../view/controls";
import { useLoaded } from "../../view/loaded-items";

const DESCRIPTIONS: Readonly<Record<string, () => string>> = {
  "IDENTITY.md": () => t("Who the agent is. It is the same for everybody."),
  "SOUL.md": () => t("Rules that it never breaks. They hold for everybody."),
  "USER.md": () => t("What it should always know about you."),
  "MEMORY.md": () => t("Notes that it has in each conversation."),
  "HEARTBEAT.md": () => t("What it does by itself, at set times."),
};

/** The files that the user may edit; nothing on a host without a folder for them. */
export function WorkspaceFiles(): JSX.Element | null {
  const [found] = useLoaded(listWorkspaceFiles, {});
  if (found === null || found.items.length === 0) return null;
  return (
    <>
      <h3>{t("Files")}</h3>
      <p class="hint">{t("Texts that the agent reads from the next message on. What is between <!-- and --> is left out. Keep passwords and keys out of them.")}</p>
      {found.items.map((row) => <FileEntry key={row.name} row={row} />)}
    </>
  );
}

/** One file. The draft outlives closing and opening it. */
function FileEntry({ row }: { row: ListedWorkspaceFile }): JSX.Element {
  const [saved, setSaved] = useState<WorkspaceFile | null>(null);
  const [draft, setDraft] = useState("");
  const show = (file: WorkspaceFile): void => {
    setSaved(file);
    setDraft(file.text);
  };
  return (
    <Disclosure
      class="guard"
      summary={
        <>
          <span class="guard-name"><code>{row.name}</code></span>
          <span class="guard-does">{DESCRIPTIONS[row.name]?.()}</span>
        </>
      }
    >
      {() => <FileEditor row={row} saved={saved} draft={draft} onDraft={setDraft} onLoaded={show} />}
    </Disclosure>
  );
}

interface EditorProps {
  row: ListedWorkspaceFile;
  /** The file as it was loaded or saved last; null: not yet loaded. */
  saved: WorkspaceFile | null;
  draft: string;
  onDraft: (text: string) => void;
  onLoaded: (file: WorkspaceFile) => void;
}

function FileEditor({ row, saved, draft, onDraft, onLoaded }: EditorProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [isDone, setDone] = useState(false);
  const [problem, setProblem] = useState<(ErrorText & { isOutdated: boolean }) | null>(null);
  const run = async (request: () => Promise<WorkspaceFile>, done: boolean): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      onLoaded(await request());
      setDone(done);
    } catch (error) {
      setProblem({ ...errorText(error), isOutdated: error instanceof ApiError && error.code === "changed_meanwhile" });
    } finally {
      setBusy(false);
    }
  };
  const load = (): void => void run(() => call(readWorkspaceFile, { name: row.name }), false);
  useEffect(() => {
    if (saved === null) load();
  }, []);
  const bytes = new TextEncoder().encode(draft).length;
  const isTooLarge = bytes > row.max_bytes;
  // A beginning that is offered for a file that is not there can be saved as it is.
  const canSave = saved !== null && !isBusy && !isTooLarge && (draft !== saved.text || saved.version === "");
  const save = (event: Event): void => {
    event.preventDefault();
    if (canSave) void run(() => call(saveWorkspaceFile, { name: row.name, text: draft, version: saved.version }), true);
  };
  const saveByKey = (event: KeyboardEvent): void => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") save(event);
  };
  return (
    <form class="file-editor" onSubmit={save} onKeyDown={saveByKey}>
      <label>
        <span class="off-screen">{t("Text of {name}", { name: row.name })}</span>
        <textarea
          rows={14}
          value={draft}
          disabled={saved === null}
          onInput={(event) => {
            setDone(false);
            onDraft(event.currentTarget.value);
          }}
        />
      </label>
      {isTooLarge && <p role="alert" class="problem">{t("This is too large: {bytes} bytes, and at most {limit} are read. Shorten it.", { bytes: formatNumber(bytes), limit: formatNumber(row.max_bytes) })}</p>}
      {problem !== null && (
        <p role="alert" class="problem" lang={problem.lang}>{escapeControls(problem.isOutdated ? t("The file was changed meanwhile. Copy what you need of your text, then load the file again.") : problem.text)}</p>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={!canSave}>{t("Save")}</button>
        {(problem !== null || (saved !== null && draft !== saved.text)) && (
          <button type="button" disabled={isBusy} onClick={load}>{t("Load again")}</button>
        )}
        <span class="hint" role="status">
          {isDone ? t("Saved.") : saved?.version === "" ? t("The file is not there yet; this is a beginning.") : t("{bytes} of {limit} bytes", { bytes: formatNumber(bytes), limit: formatNumber(row.max_bytes) })}
        </span>
      </div>
    </form>
  );
}
