// One turn: user message, activity, answer, and usage.
import { memo } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { cancelTask, currentSession, sendMessage } from "../model/app-state";
import { findBlock } from "../model/guard-verdicts";
import type { LiveTurn } from "../model/live-session";
import { isOffTheRecord } from "../model/off-the-record";
import { describeActivity } from "../model/middleware-labels";
import { completeText, fullText, isFinished, type Item, type PlanItem, type Turn } from "../model/turn-reducer";
import { formatBytes, formatDuration, formatCount, formatTokens, formatUsageCost } from "../text/format";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { getJson } from "../wire/http-api";
import { loadText, type LargeText } from "../wire/large-texts";
import { ApprovalCard } from "./approval-card";
import { Feedback } from "./feedback";
import { UserMessage } from "./user-message";
import { Icon } from "./icons";
import { Markdown } from "./markdown";
import { CopyButton, Disclosure, IconButton } from "./controls";
import { PlanGraph } from "./plan-graph";
import { Reasoning } from "./reasoning";
import { MiddlewareStrip } from "./middleware-strip";
import { ToolCall } from "./tool-call";
import { Waterfall } from "./waterfall";

export const TurnView = memo(function TurnView({ live }: { live: LiveTurn }): JSX.Element {
  void live.version.value;
  const turn = { ...live.turn }; // a copy, so that child components detect the change
  useQueuePosition(live);
  return (
    <article class={`turn ${turn.state}`} aria-label={`Turn: ${toOneLine(turn.text, 60)}`}>
      <UserMessage text={turn.text} />
      {isFinished(turn) ? <FinishedTurn turn={turn} live={live} /> : <RunningTurn turn={turn} />}
    </article>
  );
});

const POSITION_POLL_MS = 2_000;

/** Polls the queue position of a queued turn, because the host sends no event when it changes. */
function useQueuePosition(live: LiveTurn): void {
  const queued = live.turn.state === "queued";
  useEffect(() => {
    if (!queued) return;
    const timer = setInterval(() => {
      getJson<{ position: number | null }>(`/api/tasks/${encodeURIComponent(live.turn.id)}`).then(
        ({ position }) => {
          if (position === null || position === live.turn.position) return;
          live.turn.position = position;
          live.version.value++;
        },
        () => undefined,
      );
    }, POSITION_POLL_MS);
    return () => clearInterval(timer);
  }, [live, queued]);
}

function RunningTurn({ turn }: { turn: Turn }): JSX.Element {
  return (
    <div class="reply">
      <div class="activity">
        <span class={turn.state === "waiting" ? "pulse waiting" : "pulse"} aria-hidden="true" />
        <span class="activity-text">{toOneLine(describeActivity(turn), 120)}</span>
        {turn.usage.input_tokens + turn.usage.output_tokens > 0 && <span class="usage-so-far">{usageSoFar(turn)}</span>}
        <button type="button" class="quiet stop" onClick={() => void cancelTask(turn.id)}>
          <Icon name="stop" /> Stop
        </button>
      </div>
      <MiddlewareStrip turn={turn} />
      <TurnItems turn={turn} />
      {turn.answer !== "" && <Markdown text={turn.answer} streaming />}
    </div>
  );
}

function FinishedTurn({ turn, live }: { turn: Turn; live: LiveTurn }): JSX.Element {
  const isShown = shownItems(turn);
  return (
    <div class="reply">
      {turn.items.some(isShown) && <TurnItems turn={turn} only={isShown} />}
      {turn.answer !== "" && <Markdown text={turn.answer} />}
      {turn.largeText !== null && <ShowAll large={turn.largeText} live={live} />}
      {turn.state === "failed" && <ErrorMessage turn={turn} />}
      {turn.state === "cancelled" && <p class="ending">Stopped. No further actions were taken.</p>}
      {turn.state === "completed" && FINISH_TEXTS[turn.finishReason] && <p class="ending">{FINISH_TEXTS[turn.finishReason]}</p>}
      <TurnDetails turn={turn} live={live} />
    </div>
  );
}

/** The rest of an answer that is too large to be loaded without being asked for. */
function ShowAll({ large, live }: { large: LargeText; live: LiveTurn }): JSX.Element {
  const [state, setState] = useState<"ready" | "loading" | "failed">("ready");
  const show = (): void => {
    setState("loading");
    loadWholeText(live).catch(() => setState("failed"));
  };
  return (
    <p class="ending">
      <button type="button" class="quiet" disabled={state === "loading"} onClick={show}>
        Show all ({formatBytes(large.bytes)})
      </button>
      {state === "failed" && <span role="alert"> The rest could not be loaded.</span>}
    </p>
  );
}

/** Loads the whole text of a turn, shows it and returns it. */
async function loadWholeText(live: LiveTurn): Promise<string> {
  if (live.turn.largeText !== null) {
    completeText(live.turn, await loadText(live.turn.largeText));
    live.version.value++;
  }
  return fullText(live.turn);
}

/** Footer of a finished turn: usage summary, and collapsed details of what happened. */
function TurnDetails({ turn, live }: { turn: Turn; live: LiveTurn }): JSX.Element {
  const [waterfall, setWaterfall] = useState(false);
  const isShown = shownItems(turn);
  const text = fullText(turn);
  return (
    <footer class="turn-footer">
      <Disclosure
        summary={<span>{turnSummary(turn)}</span>}
        class="what-happened"
      >
        {() => (
          <>
            <MiddlewareStrip turn={turn} />
            <TurnItems turn={turn} only={(item) => !isShown(item)} />
            {!turn.id.startsWith("seq:") && (
              <button type="button" class="quiet" aria-expanded={waterfall} onClick={() => setWaterfall(!waterfall)}>
                <Icon name="chart" /> {waterfall ? "Hide the waterfall" : "Show as a waterfall"}
              </button>
            )}
            {waterfall && <Waterfall task={turn.id} />}
          </>
        )}
      </Disclosure>
      {text !== "" && <CopyButton text={text} what="answer" load={turn.largeText === null ? undefined : () => loadWholeText(live)} />}
      {takesFeedback(turn) && <Feedback turn={turn} />}
      {(turn.state === "failed" || turn.state === "cancelled") && (
        <IconButton icon="again" label="Try again" onClick={() => sendMessage(turn.text)} />
      )}
    </footer>
  );
}

/** Whether the host keeps what is said about a turn: it has an answer, a task, and is not off the record. */
function takesFeedback(turn: Turn): boolean {
  return turn.state === "completed" && turn.answer !== "" && !turn.id.startsWith("seq:") && !isOffTheRecord(currentSession.value?.id ?? "");
}

function ErrorMessage({ turn }: { turn: Turn }): JSX.Element {
  const error = turn.error;
  return (
    <div class="failure" role="group" aria-label="Error">
      <p>
        <strong>Something went wrong.</strong> {escapeControls(error?.message ?? "The turn failed.")}
      </p>
      <p class="hint">
        {error?.code}
        {error?.id ? `, id ${error.id} in the host's log` : ""}
      </p>
      <button type="button" onClick={() => sendMessage(turn.text)}>
        <Icon name="again" /> Try again
      </button>
    </div>
  );
}

function TurnItems({ turn, only }: { turn: Turn; only?: (item: Item) => boolean }): JSX.Element | null {
  const items = only ? turn.items.filter(only) : turn.items;
  return items.length === 0 ? null : (
    <div class="items">
      {items.map((item) => {
        switch (item.kind) {
          case "tool":
            return <ToolCall key={item.key} item={{ ...item }} />;
          case "approval":
            return <ApprovalCard key={item.key} item={{ ...item }} over={isFinished(turn)} />;
          case "plan":
            return <TurnPlan key={item.key} item={item} turn={turn} />;
          case "text":
            return <Markdown key={item.key} text={item.text} />;
          case "reasoning":
            return <Reasoning key={item.key} item={{ ...item }} />;
          case "note":
            return (
              <p key={item.key} class={`note ${item.severity}`}>
                {escapeControls(item.text)}
              </p>
            );
        }
      })}
    </div>
  );
}

/** A plan of the turn; plans of steps are collapsed. */
function TurnPlan({ item, turn }: { item: PlanItem; turn: Turn }): JSX.Element {
  if (item.runId === turn.id) return <PlanGraph plan={item.plan} steps={item.steps} />;
  return (
    <Disclosure class="decided" summary={<span>Plan of the step “{toOneLine(item.plan.goal, 80)}”</span>}>
      {() => <PlanGraph plan={item.plan} steps={item.steps} />}
    </Disclosure>
  );
}

/**
 * Returns which items of a finished turn are shown outside the collapsed details. A tool call is, if a guard blocked it,
 * or if the model wrote text before a call, so that the text is read in its order.
 */
function shownItems(turn: Turn): (item: Item) => boolean {
  const hasText = turn.items.some((item) => item.kind === "text");
  return (item) => {
    switch (item.kind) {
      case "text":
      case "reasoning":
      case "approval":
        return true;
      case "tool":
        return (hasText && item.step === "") || findBlock(item.verdicts) !== undefined;
      case "plan":
        return !item.runId.includes("/");
      case "note":
        return item.severity === "warning";
    }
  };
}

const FINISH_TEXTS: Record<string, string> = {
  length: "The model reached its maximum answer length. Write “continue” for the rest.",
  budget_exceeded: "A budget limit ended this turn; see Budget in the host's settings.",
  max_iterations: "The agent reached the maximum number of rounds per turn (AgentExecution.MaxToolIterations).",
  loop_detected: "The turn was stopped because the agent was in a loop.",
};

function usageSoFar(turn: Turn): string {
  const { input_tokens: input, output_tokens: output, cost_micros: micros, unpriced_tokens: unpriced } = turn.usage;
  return `${formatTokens(input + output)}${micros > 0 || unpriced ? `, ${formatUsageCost(turn.usage)}` : ""}`;
}

function turnSummary(turn: Turn): string {
  const calls = turn.items.filter((item) => item.kind === "tool").length;
  const spent = turn.usage.input_tokens + turn.usage.output_tokens;
  return [
    calls > 0 ? formatCount(calls, "tool call") : "",
    ...(spent > 0 ? [formatTokens(spent), formatUsageCost(turn.usage)] : []),
    turn.durationMs > 0 ? formatDuration(turn.durationMs) : "",
    turn.models.length > 0 ? turn.models.map((model) => toOneLine(model, 40)).join(", ") : "",
  ]
    .filter((part) => part !== "")
    .join(" · ") || "What happened";
}
