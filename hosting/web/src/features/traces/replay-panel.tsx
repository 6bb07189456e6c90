// Replay of a turn: choose a model and, as an operator, a chain; then both turns side by side.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { reportErrors } from "../../model/app-state";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { formatDuration, formatTokens, formatUsageCost } from "../../text/format";
import { stateLabel } from "../../text/state-labels";
import { plural, t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { listReplayChoices, replayOwnTurn } from "../../wire/operations";
import type { ReplayComparison, ReplaySide } from "../../wire/types";
import { useLoaded } from "../../view/loaded-items";

export function ReplayPanel({ task }: { task: string }): JSX.Element | null {
  const [choices] = useLoaded(listReplayChoices, {});
  const [model, setModel] = useState("");
  const [chain, setChain] = useState("");
  const [runs, setRuns] = useState(false);
  const [found, setFound] = useState<ReplayComparison | null>(null);
  if (choices === null) return null;
  const replay = async (): Promise<void> => {
    setRuns(true);
    await reportErrors(async () => {
      setFound(await call(replayOwnTurn, { task_id: task, ...(model ? { model } : {}), ...(chain ? { chain } : {}) }));
    });
    setRuns(false);
  };
  return (
    <section class="replay" aria-label={t("Replay")}>
      <h3>{t("Replay")}</h3>
      <p class="hint">{t("Runs this turn again with another model or chain. No tool runs and nothing is stored; the model calls are charged to your budget.")}</p>
      <form
        class="replay-form"
        onSubmit={(event) => {
          event.preventDefault();
          void replay();
        }}
      >
        <label>
          {t("Model")}
          <select value={model} onChange={(event) => setModel(event.currentTarget.value)}>
            <option value="">{t("as it was, or by routing")}</option>
            {choices.models.map((each) => (
              <option key={each} value={each}>
                {toOneLine(each, 80)}
              </option>
            ))}
          </select>
        </label>
        {choices.chains.length > 0 && (
          <label>
            {t("Chain")}
            <select value={chain} onChange={(event) => setChain(event.currentTarget.value)}>
              <option value="">{t("the configured one")}</option>
              {choices.chains.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        )}
        <button type="submit" disabled={runs}>
          {runs ? t("Replaying…") : t("Replay this turn")}
        </button>
      </form>
      <div aria-live="polite">{found !== null && <Comparison found={found} />}</div>
    </section>
  );
}

function Comparison({ found }: { found: ReplayComparison }): JSX.Element {
  const { replay } = found;
  return (
    <>
      <div class="side-by-side">
        <Side title={t("Then")} side={found.original} />
        <Side title={t("Replay with {chain}", { chain: toOneLine(replay.chain ?? "", 60) })} side={replay} />
      </div>
      <p class="hint">
        {plural(replay.reused, "{count} tool call got the recorded result.", "{count} tool calls got the recorded result.")}{" "}
        {plural(replay.missing, "{count} had none and did not run.", "{count} had none and did not run.")}{" "}
        {replay.asked.length > 0 && t("A person would be asked about {tools}.", { tools: toOneLine(replay.asked.join(", "), 200) })}
      </p>
    </>
  );
}

function Side({ title, side }: { title: string; side: ReplaySide }): JSX.Element {
  return (
    <section class="side" aria-label={title}>
      <h4>{title}</h4>
      <p class="hint">
        {[
          toOneLine(side.model ?? t("no model"), 60),
          side.status === null ? t("no trace is stored") : stateLabel(side.status),
          side.usage === null ? "" : formatTokens(side.usage.input_tokens + side.usage.output_tokens),
          side.usage === null ? "" : formatUsageCost(side.usage),
          side.working_ms === null ? "" : formatDuration(side.working_ms),
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {side.routes.map((each, index) => (
        <p key={index} class="hint">
          {toOneLine(`${each.kind.replaceAll("_", " ")}: ${String(each.data["model"] ?? "")} ${String(each.data["reason"] ?? each.data["strategy"] ?? "")}`, 300)}
        </p>
      ))}
      <ul>
        {side.tools.map((call, index) => (
          <li key={index}>
            {toOneLine(call.tool, 60)} {toOneLine(call.arguments, 200)}: {stateLabel(call.outcome)}
          </li>
        ))}
      </ul>
      {side.error?.message !== undefined && <p role="alert">{toOneLine(side.error.message, 300)}</p>}
      <pre tabIndex={0}>{escapeControls(side.answer)}</pre>
    </section>
  );
}
