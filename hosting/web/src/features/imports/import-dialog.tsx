// Dialog that imports conversations from a file: of Sophon, ChatGPT or Claude.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { refreshSessions } from "../../model/app-state";
import { errorText } from "../../text/error-text";
import { toOneLine } from "../../text/escape-controls";
import { plural, t } from "../../text/translate";
import { importFile } from "../../wire/file-transfer";
import type { ImportReportView } from "../../wire/types";
import { Dialog } from "../../view/controls";

/** `share`: how much of the file is sent, 1 while the host reads it. */
type Import = { state: "choosing" } | { state: "running"; share: number } | { state: "done"; report: ImportReportView } | { state: "failed"; error: unknown };

export function ImportDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const [current, setCurrent] = useState<Import>({ state: "choosing" });
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const begin = (file: File): void => {
    setCurrent({ state: "running", share: 0 });
    const { signal } = abort.current;
    importFile(file, { signal, onProgress: (share) => setCurrent({ state: "running", share }) }).then(
      (report) => {
        if (!signal.aborted) setCurrent({ state: "done", report });
        void refreshSessions();
      },
      (error: unknown) => signal.aborted || setCurrent({ state: "failed", error }),
    );
  };
  return (
    <Dialog title={t("Import conversations")} onClose={onClose}>
      <p>{t("A file that Sophon, ChatGPT or Claude has exported: JSON, or the archive as it was downloaded. Each conversation is imported once; titles and dates stay.")}</p>
      <label>
        {t("File")}
        <input
          type="file"
          accept=".json,.jsonl,.zip"
          disabled={current.state === "running"}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            event.currentTarget.value = ""; // the same file may be chosen again
            if (file !== undefined) begin(file);
          }}
        />
      </label>
      <div role="status">
        {current.state === "running" && <Progress share={current.share} />}
        {current.state === "done" && <Result report={current.report} />}
      </div>
      {current.state === "failed" && <Failure error={current.error} />}
      <div class="buttons">
        <button type="button" onClick={onClose}>{current.state === "running" ? t("Cancel") : t("Close")}</button>
      </div>
    </Dialog>
  );
}

function Progress({ share }: { share: number }): JSX.Element {
  return share < 1 ? (
    <>
      <p>{t("Sending the file…")}</p>
      <progress value={share} aria-label={t("Sending the file…")} />
    </>
  ) : (
    <p>{t("The host reads the conversations…")}</p>
  );
}

function Result({ report }: { report: ImportReportView }): JSX.Element {
  const unnamed = report.skipped - report.not_imported.length;
  return (
    <>
      <p>
        {plural(report.imported, "{count} conversation imported", "{count} conversations imported")}
        {report.skipped > 0 && <>, {t("{count} skipped:", { count: report.skipped })}</>}
      </p>
      {report.skipped > 0 && (
        <ul class="skipped" tabIndex={0} aria-label={t("Skipped conversations")}>
          {report.not_imported.map(({ title, reason }, index) => (
            <li key={index}>
              <bdi>{toOneLine(title, 80)}</bdi>: <span lang="en">{reason}</span>
            </li>
          ))}
          {unnamed > 0 && <li>{t("and {count} more", { count: unnamed })}</li>}
        </ul>
      )}
    </>
  );
}

function Failure({ error }: { error: unknown }): JSX.Element {
  const { text, lang } = errorText(error);
  return <p role="alert" class="problem" lang={lang}>{text}</p>;
}
