// Log page: the newest lines of this process as they are written, with a filter and a pause.
import { definePage } from "../../model/page";
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { formatClock } from "../../text/format";
import { t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { listLogLines } from "../../wire/operations";
import type { LogLineView } from "../../wire/types";
import { EmptyState } from "../../view/loaded-items";
import { OperatorNav } from "../../view/operator-nav";

export const logsPage = definePage({ name: "logs", title: () => t("Log"), icon: null, View: LogsPage });

const MAX_SHOWN = 500;
const WAIT_SECONDS = 20;
const LEVELS = ["Debug", "Info", "Warning", "Error"] as const;
type Level = (typeof LEVELS)[number];

/** The lines that fit, as they come; while paused none is asked for. */
function useLog(level: Level, text: string, isPaused: boolean): readonly LogLineView[] | null {
  const [rows, setRows] = useState<readonly LogLineView[] | null>(null);
  const last = useRef<number | null>(null);
  useEffect(() => {
    last.current = null;
    setRows(null);
  }, [level, text]);
  useEffect(() => {
    if (isPaused) return;
    let isCurrent = true;
    const follow = async (): Promise<void> => {
      while (isCurrent) {
        const after = last.current;
        const succeeded = await reportErrors(async () => {
          const found = await call(listLogLines, { level, text, after: after ?? 0, limit: MAX_SHOWN, wait: after === null ? 0 : WAIT_SECONDS });
          if (!isCurrent) return;
          last.current = found.last;
          setRows((known) => [...(known ?? []), ...found.items].slice(-MAX_SHOWN));
        });
        if (!succeeded) return;
      }
    };
    void follow();
    return () => void (isCurrent = false);
  }, [level, text, isPaused]);
  return rows;
}

function LogsPage(): JSX.Element {
  const [level, setLevel] = useState<Level>("Info");
  const [text, setText] = useState("");
  const [isPaused, setPaused] = useState(false);
  const rows = useLog(level, text.trim(), isPaused);
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (list.current && isAtEnd.current) list.current.scrollTop = list.current.scrollHeight;
  }, [rows]);
  return (
    <section class="info-page">
      <OperatorNav />
      <h2>{t("Log")}</h2>
      <p class="hint">{t("The newest lines of this process, as they are written; secrets are replaced. The whole log is where the process writes it.")}</p>
      <div class="new-row">
        <label>
          {t("Level and above")}
          <select value={level} onChange={(event) => setLevel(event.currentTarget.value as Level)}>
            {LEVELS.map((each) => <option key={each} value={each} lang="en">{each}</option>)}
          </select>
        </label>
        <label>
          {t("Text")}
          <input type="search" value={text} maxLength={200} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>{isPaused ? t("Go on") : t("Pause")}</button>
      </div>
      {rows?.length === 0 && <EmptyState title={t("No lines.")}>{t("Lines appear here as the host writes them. The setting Logging.Level says which are written at all.")}</EmptyState>}
      {rows !== null && rows.length > 0 && (
        <div
          class="log"
          ref={list}
          tabIndex={0}
          role="region"
          aria-label={t("Lines of the log")}
          onScroll={({ currentTarget: box }) => void (isAtEnd.current = box.scrollTop + box.clientHeight >= box.scrollHeight - 8)}
        >
          <ol>
            {rows.map((row) => (
              <li key={row.number} class={row.level} lang="en">
                <time dateTime={row.at}>{formatClock(row.at)}</time> <span class="level">{row.level}</span> <span class="logger">{toOneLine(row.logger, 60)}</span>{" "}
                <span class="text">{escapeControls(row.text)}</span>
              </li>
            ))}
          </ol>
        </div>
      )}
    </section>
  );
}
