// One turn: user message, activity, answer, and usage.
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX, RefObject } from "preact";
import { branch, cancelTask, currentSession, foreignOwner, quotedText, sendMessage } from "../model/app-state";
import { canContinue, continuationMessage } from "../model/continuation";
import { findBlock } from "../model/guard-verdicts";
import type { LiveSession, LiveTurn } from "../model/live-session";
import { isOffTheRecord } from "../model/off-the-record";
import { describeActivity } from "../model/middleware-labels";
import { completeText, fullText, isFinished, type Item, type PlanItem, type Turn } from "../model/turn-reducer";
import { formatBytes, formatDateTime, formatDuration, formatTime, formatTokens, formatUsageCost } from "../text/format";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { plural, t } from "../text/translate";
import { call } from "../wire/http-api";
import { getTask } from "../wire/operations";
import { loadText } from "../wire/large-texts";
import { ApprovalCard } from "./approval-card";
import { Feedback } from "./feedback";
import { AnswerMenu, canBranch, MessageActions, MessageEditor } from "./message-actions";
import { UserMessage } from "./user-message";
import { Icon } from "./icons";
import { Markdown } from "./markdown";
import { CopyButton, Disclosure, IconButton } from "./controls";
import { PlanGraph } from "./plan-graph";
import { Reasoning } from "./reasoning";
import { MiddlewareStrip } from "./middleware-strip";
import { ToolCall } from "./tool-call";
import { Waterfall } from "./waterfall";
import { hostErrorText, type ErrorText } from "../text/error-text";
import type { LargeFieldReference } from "../wire/types";

export const TurnView = memo(function TurnView({ live, session, position, count }: { live: LiveTurn; session: LiveSession; position: number; count: number }): JSX.Element {
  void live.version.value;
  const turn = { ...live.turn }; // a copy, so that child components detect the change
  const [isEditing, setEditing] = useState(false);
  const article = useRef<HTMLElement>(null);
  useQueuePosition(live);
  useKeptHeight(article, isFinished(turn));
  return (
    <article class={`turn ${turn.state}`} id={turnElementId(turn.id)} ref={article} aria-posinset={position} aria-setsize={count} aria-label={t("Turn: {text}", { text: toOneLine(turn.text, 60) })}>
      <h2 class="off-screen">{t("You said")}</h2>
      {isEditing && <MessageEditor session={session} turn={turn} onClose={() => setEditing(false)} />}
      {!isEditing && <UserMessage text={turn.text} attachments={turn.attachments} state={turn.startedAt === "" ? undefined : <time class="said-at" dateTime={turn.startedAt} title={formatDateTime(turn.startedAt)}>{formatTime(turn.startedAt)}</time>} />}
      {!isEditing && <MessageActions session={session} turn={turn} onEdit={() => setEditing(true)} />}
      <h2 class="off-screen">{isFinished(turn) ? t("Sophon answered") : t("Sophon is answering")}</h2>
      {isFinished(turn) ? <FinishedTurn turn={turn} live={live} session={session} /> : <RunningTurn turn={turn} />}
    </article>
  );
});

/** The id of a turn's element. */
export function turnElementId(task: string): string {
  return `turn-${task}`;
}

/** Pixels that a turn may be higher than its content: the lines about its activity, but not a list of tool calls. */
const KEPT_PIXELS = 160;

/** Keeps the height that a turn had while it ran, so that its end moves nothing at the end of a page that scrolls. */
function useKeptHeight(article: RefObject<HTMLElement | null>, finished: boolean): void {
  const height = useRef(0);
  useLayoutEffect(() => {
    const element = article.current;
    if (element === null) return;
    if (finished) {
      // Its content is measured in an element of its height, so that a list at its end is not scrolled up.
      element.style.minHeight = `${height.current}px`;
      const content = element.lastElementChild!.getBoundingClientRect().bottom - element.getBoundingClientRect().top;
      const below = parseFloat(getComputedStyle(element).paddingBottom);
      if (height.current - content - below > KEPT_PIXELS) element.style.minHeight = "";
    }
    if (!finished) {
      const observer = new ResizeObserver(() => (height.current = element.offsetHeight));
      observer.observe(element);
      return () => observer.disconnect();
    }
    return undefined;
  }, [finished]);
}

const POSITION_POLL_MS = 2_000;

/** Polls the queue position of a queued turn, because the host sends no event when it changes. */
function useQueuePosition(live: LiveTurn): void {
  const queued = live.turn.state === "queued";
  useEffect(() => {
    if (!queued) return;
    const timer = setInterval(() => {
      call(getTask, { task_id: live.turn.id }).then(
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

/** A turn that runs. What it does stands below the text, where the summary will be: the end of the turn moves no text. */
function RunningTurn({ turn }: { turn: Turn }): JSX.Element {
  return (
    <div class="reply">
      <TurnItems turn={turn} />
      {turn.answer !== "" && <Markdown text={turn.answer} streaming />}
      <div class="activity">
        <span class={turn.state === "waiting" ? "pulse waiting" : "pulse"} aria-hidden="true" />
        <span class="activity-text">{toOneLine(describeActivity(turn), 120)}</span>
        {turn.usage.input_tokens + turn.usage.output_tokens > 0 && <span class="usage-so-far">{usageSoFar(turn)}</span>}
        <button type="button" class="quiet stop" onClick={() => void cancelTask(turn.id)}>
          <Icon name="stop" /> {t("Stop")}
        </button>
      </div>
      <MiddlewareStrip turn={turn} />
    </div>
  );
}

function FinishedTurn({ turn, live, session }: { turn: Turn; live: LiveTurn; session: LiveSession }): JSX.Element {
  const isShown = shownItems(turn);
  return (
    <div class="reply">
      {turn.items.some(isShown) && <TurnItems turn={turn} only={isShown} />}
      {turn.answer !== "" && <Markdown text={turn.answer} />}
      {turn.largeText !== null && <ShowAll large={turn.largeText} live={live} />}
      {turn.state === "failed" && <ErrorMessage turn={turn} />}
      {turn.state === "cancelled" && <p class="ending">{t("Stopped. No further actions were taken.")}</p>}
      {turn.state === "completed" && FINISH_TEXTS[turn.finishReason] && <p class="ending">{FINISH_TEXTS[turn.finishReason]?.()}</p>}
      {canContinue(turn) && session.turns.value.at(-1) === live && foreignOwner(session.id) === null && (
        <p class="ending">
          <button type="button" onClick={() => sendMessage(continuationMessage(turn))}>{t("Continue the answer")}</button>
        </p>
      )}
      <TurnDetails turn={turn} live={live} session={session} />
    </div>
  );
}

/** The rest of an answer that is too large to be loaded without being asked for. */
function ShowAll({ large, live }: { large: LargeFieldReference; live: LiveTurn }): JSX.Element {
  const [state, setState] = useState<"ready" | "loading" | "failed">("ready");
  const show = (): void => {
    setState("loading");
    loadWholeText(live).catch(() => setState("failed"));
  };
  return (
    <p class="ending">
      <button type="button" class="quiet" disabled={state === "loading"} onClick={show}>
        {t("Show all ({bytes})", { bytes: formatBytes(large.bytes) })}
      </button>
      {state === "failed" && <span role="alert"> {t("The rest could not be loaded.")}</span>}
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
function TurnDetails({ turn, live, session }: { turn: Turn; live: LiveTurn; session: LiveSession }): JSX.Element {
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
                <Icon name="chart" /> {waterfall ? t("Hide the waterfall") : t("Show as a waterfall")}
              </button>
            )}
            {waterfall && <Waterfall task={turn.id} />}
          </>
        )}
      </Disclosure>
      {text !== "" && <CopyButton text={text} label={t("Copy answer")} load={turn.largeText === null ? undefined : () => loadWholeText(live)} />}
      {text !== "" && <IconButton icon="quote" label={t("Quote")} onClick={() => (quotedText.value = quote(text))} />}
      {takesFeedback(turn) && <Feedback turn={turn} />}
      {(turn.state === "failed" || turn.state === "cancelled") && (
        <IconButton icon="again" label={t("Try again")} onClick={() => sendMessage(turn.text, turn.attachments)} />
      )}
      {turn.state === "completed" && canBranch(session, turn) && <IconButton icon="again" label={t("Answer again")} onClick={() => void branch(session, turn.id, {})} />}
      <AnswerMenu session={session} turn={turn} />
    </footer>
  );
}

/** The selected text, or the beginning of the answer if nothing is selected, as a quotation to answer to. */
function quote(answer: string): string {
  const selected = getSelection()?.toString().trim() ?? "";
  const quoted = selected !== "" ? selected : answer.split(/\n\s*\n/u, 1)[0] ?? "";
  return `${quoted.split("\n").map((line) => `> ${line}`).join("\n")}\n\n`;
}

/** Whether the host keeps what is said about a turn: it has an answer, a task, and is not off the record. */
function takesFeedback(turn: Turn): boolean {
  return turn.state === "completed" && turn.answer !== "" && !turn.id.startsWith("seq:") && !isOffTheRecord(currentSession.value?.id ?? "");
}

function ErrorMessage({ turn }: { turn: Turn }): JSX.Element {
  const error = turn.error;
  const { text, lang }: ErrorText = error === null ? { text: t("The turn failed.") } : hostErrorText(error.code, error.message);
  return (
    <div class="failure" role="group" aria-label={t("Error")}>
      <p>
        <strong>{t("Something went wrong.")}</strong> <span lang={lang}>{escapeControls(text)}</span>
      </p>
      <p class="hint">
        {error?.code}
        {error?.id ? t(", id {id} in the host's log", { id: error.id }) : ""}
      </p>
      <button type="button" onClick={() => sendMessage(turn.text, turn.attachments)}>
        <Icon name="again" /> {t("Try again")}
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
    <Disclosure class="decided" summary={<span>{t("Plan of the step “{goal}”", { goal: toOneLine(item.plan.goal, 80) })}</span>}>
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

const FINISH_TEXTS: Record<string, () => string> = {
  length: () => t("The model reached its maximum answer length."),
  budget_exceeded: () => t("A budget limit ended this turn; see Budget in the host's settings."),
  max_iterations: () => t("The agent reached the maximum number of rounds per turn (AgentExecution.MaxToolIterations)."),
  loop_detected: () => t("The turn was stopped because the agent was in a loop."),
};

function usageSoFar(turn: Turn): string {
  const { input_tokens: input, output_tokens: output, cost_micros: micros, unpriced_tokens: unpriced } = turn.usage;
  return `${formatTokens(input + output)}${micros > 0 || unpriced ? `, ${formatUsageCost(turn.usage)}` : ""}`;
}

function turnSummary(turn: Turn): string {
  const calls = turn.items.filter((item) => item.kind === "tool").length;
  const spent = turn.usage.input_tokens + turn.usage.output_tokens;
  return [
    calls > 0 ? plural(calls, "{count} tool call", "{count} tool calls") : "",
    ...(spent > 0 ? [formatTokens(spent), formatUsageCost(turn.usage)] : []),
    turn.durationMs > 0 ? formatDuration(turn.durationMs) : "",
    turn.models.length > 0 ? turn.models.map((model) => toOneLine(model, 40)).join(", ") : "",
  ]
    .filter((part) => part !== "")
    .join(" · ") || t("What happened");
}
