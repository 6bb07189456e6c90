// Traces page: how recent turns went, each with its model calls, tool calls and stages on demand.
import { definePage } from "../../model/page";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { currentUser, reportErrors } from "../../model/app-state";
import { route, routeUrl } from "../../model/router";
import { buildTraceTree } from "./trace-tree";
import { saveFile } from "../../model/save-file";
import { hostErrorText } from "../../text/error-text";
import { toOneLine } from "../../text/escape-controls";
import { formatDuration, formatMilliseconds, formatNumber, formatTime, formatTokens, formatUsageCost } from "../../text/format";
import { plural, rich, t } from "../../text/translate";
import { download } from "../../wire/http-api";
import { getTrace, listTraces, listTurnMessages } from "../../wire/operations";
import type { TraceSummary } from "../../wire/types";
import { Disclosure, StatusLight } from "../../view/controls";
import { EmptyState, useLoaded } from "../../view/loaded-items";
import { ReplayPanel } from "./replay-panel";
import { stateLabel } from "../../text/state-labels";
import { TraceRows } from "./trace-rows";

export const tracesPage = definePage({ name: "traces", title: () => t("Traces"), icon: "trace", View: TracesPage });

const MAX_TRACES = 100;
const REFRESH_MS = 1000;

function TracesPage(): JSX.Element {
  const [everything, setEverything] = useState(false);
  const [found, reload] = useLoaded(listTraces, { limit: MAX_TRACES, everything });
  useRefresh(found?.items.some((each) => each.status === "running") ?? false, reload);
  const to = route.value;
  if (to.page === "traces" && "id" in to && to.id) return <OneTrace key={to.id} task={to.id} />;
  return (
    <section class="info-page">
      <h2>{t("Traces")}</h2>
      <p class="hint">{t("How recent turns went: what the model was asked, which tools ran, and where the time went.")}</p>
      {currentUser.value?.operator === true && (
        <label class="check">
          <input type="checkbox" checked={everything} onChange={(event) => setEverything(event.currentTarget.checked)} /> {t("of all users")}
        </label>
      )}
      {found?.items.length === 0 && <EmptyState title={t("No traces yet.")}>{rich("Each turn leaves one, if {setting} is on.", { setting: <code>Traces.Enabled</code> })}</EmptyState>}
      <ul class="rows">
        {found?.items.map((trace) => (
          <li key={trace.run_id}>
            <Disclosure class="trace" summary={<Summary trace={trace} />}>
              {() => <Details task={trace.run_id} />}
            </Disclosure>
          </li>
        ))}
      </ul>
    </section>
  );
}

function OneTrace({ task }: { task: string }): JSX.Element {
  return (
    <section class="info-page">
      <h2>{t("Trace of one turn")}</h2>
      <p>
        <a href={routeUrl({ page: "traces" })}>{t("All traces")}</a>
      </p>
      <Details task={task} />
    </section>
  );
}

function Summary({ trace }: { trace: TraceSummary }): JSX.Element {
  const { input_tokens: input, output_tokens: output } = trace.usage;
  return (
    <>
      <time dateTime={trace.started_at}>{formatTime(trace.started_at)}</time>
      <StatusLight good={trace.status === "completed"} label={stateLabel(trace.status)} />
      <span class="tool-arguments">{[toOneLine(trace.model ?? "", 50), trace.tools_count > 0 ? plural(trace.tools_count, "{count} tool call", "{count} tool calls") : ""].filter((each) => each !== "").join(" · ")}</span>
      <span class="tool-end">
        {formatTokens(input + output)} · {formatUsageCost(trace.usage)} · {formatDuration(trace.working_ms)}
      </span>
    </>
  );
}

function Details({ task }: { task: string }): JSX.Element | null {
  const [trace, reload] = useLoaded(getTrace, { task_id: task });
  const [stored, reloadMessages] = useLoaded(listTurnMessages, { task_id: task });
  const loaded = trace !== null && "stages" in trace ? trace : null; // and not that of OpenTelemetry
  useRefresh(loaded?.status === "running", () => {
    reload();
    reloadMessages();
  });
  if (loaded === null || stored === null) return null;
  const failure = loaded.error.message === undefined ? null : hostErrorText(loaded.error.code ?? "", loaded.error.message);
  return (
    <>
      <p class="trace-links">
        <a href={routeUrl({ page: "session", id: loaded.session_id })}>{t("Open the conversation")}</a>
        <a href={routeUrl({ page: "traces", id: task })}>{t("Link to this trace")}</a>
        <button type="button" class="quiet" onClick={() => void saveTrace(task, "json")}>
          {t("Download as JSON")}
        </button>
        <button type="button" class="quiet" onClick={() => void saveTrace(task, "otlp")}>{t("Download for OpenTelemetry")}</button>
      </p>
      <p class="hint">{t("task {run_id}, by {principal} over {channel}", { run_id: task, principal: toOneLine(loaded.principal, 60) || t("nobody"), channel: toOneLine(loaded.channel, 30) })}</p>
      {failure !== null && <p role="alert" lang={failure.lang}>{toOneLine(failure.text, 300)}</p>}
      <TraceRows task={task} rows={buildTraceTree(loaded, stored.items)} />
      <Disclosure class="tool-call" summary={<span>{t("Time by middleware")}</span>}>
        {() => (
          <table class="plain">
            <tbody>
              {loaded.stages.map((stage) => (
                <tr key={`${stage.zone} ${stage.name}`}>
                  <th scope="row">{toOneLine(stage.name, 40)}</th>
                  <td>{stage.zone}</td>
                  <td>{formatNumber(stage.calls)} ×</td>
                  <td>{t("{duration} itself", { duration: formatMilliseconds(stage.own_ms) })}</td>
                  <td>{t("{duration} in all", { duration: formatMilliseconds(stage.total_ms) })}</td>
                  <td>{stage.outcome === "passed" ? "" : toOneLine(stage.outcome, 40)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Disclosure>
      {loaded.status !== "running" && loaded.status !== "suspended" && loaded.principal === currentUser.value?.user && <ReplayPanel task={task} />}
    </>
  );
}

/** Calls a function each second while a turn runs. */
function useRefresh(runs: boolean, refresh: () => void): void {
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(refresh, REFRESH_MS);
    return () => clearInterval(timer);
  }, [runs]);
}

async function saveTrace(task: string, format: "json" | "otlp"): Promise<void> {
  const name = format === "otlp" ? `trace-${task}.otlp.json` : `trace-${task}.json`;
  await reportErrors(async () => saveFile(await download(getTrace, { task_id: task, format }), name));
}
