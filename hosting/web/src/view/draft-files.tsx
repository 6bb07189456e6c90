// Files of the message that is being written: the button that adds them, their progress, and their removal.
import { useRef } from "preact/hooks";
import type { JSX } from "preact";
import { announcement } from "../model/app-state";
import { addFiles, filesOf, removeFile, type DraftFile } from "../model/attachments";
import { formatPercent } from "../text/format";
import { t } from "../text/translate";
import { Icon } from "./icons";

/** Uploads files for the next message of a session, and says so to screen readers. */
export function attachFiles(session: string, files: Iterable<File>): void {
  addFiles(session, files, (text) => (announcement.value = text));
}

export function AttachButton({ session }: { session: string }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={(event) => {
          attachFiles(session, [...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="attach quiet" aria-label={t("Attach files")} title={t("Attach files")} onClick={() => input.current?.click()}>
        <Icon name="clip" />
      </button>
    </>
  );
}

export function DraftFiles({ session }: { session: string }): JSX.Element | null {
  const files = filesOf(session);
  if (files.length === 0) return null;
  return (
    <ul class="draft-files" aria-label={t("Attached files")}>
      {files.map((file) => (
        <DraftFileItem key={file.key} file={file} />
      ))}
    </ul>
  );
}

function DraftFileItem({ file }: { file: DraftFile }): JSX.Element {
  return (
    <li class={file.problem === "" ? "draft-file" : "draft-file failed"}>
      <Icon name="file" />
      <span class="draft-file-text">
        <bdi>{file.name}</bdi>
        {file.problem !== "" && <span class="problem" lang={file.problemLang}>{file.problem}</span>}
        {file.attachment === null && file.problem === "" && (
          <progress max={1} value={file.progress} aria-label={t("Upload of {name}", { name: file.name })}>{formatPercent(file.progress * 100)}</progress>
        )}
      </span>
      <button type="button" class="quiet" aria-label={t("Remove {name}", { name: file.name })} title={t("Remove")} onClick={() => removeFile(file)}>
        <Icon name="close" />
      </button>
    </li>
  );
}
