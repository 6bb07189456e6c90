// One turn: what was asked, what the agent did, what it answered, and what it cost.
import { memo } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { say, stop } from "../model/app";
import type { LiveTurn } from "../model/conversation";
import { doing } from "../model/layers";
import { isOver, type Item, type PlanItem, type Turn } from "../model/turn";
import { cost, duration, plural, tokens } from "../text/format";
import { onOneLine, visible } from "../text/visible";
import { get } from "../wire/api";
import { Approval } from "./approval";
import { Said } from "./said";
import { Icon } from "./icons";
import { Markdown } from "./markdown";
import { CopyButton, Fold, IconButton } from "./parts";
import { Plan } from "./plan";
import { Strip } from "./strip";
import { ToolCall } from "./tool-call";
import { Waterfall } from "./waterfall";

export const TurnView = memo(function TurnView({ live }: { live: LiveTurn }): JSX.Element {
  void live.version.value;
  const turn = { ...live.turn }; // another object, so that what is below sees that it changed
  usePosition(live);
  return (
    <article class={`turn ${turn.state}`} aria-label={`Turn: ${onOneLine(turn.text, 60)}`}>
      <Said text={turn.text} />
      {isOver(turn) ? <Past turn={turn} /> : <Present turn={turn} />}
    </article>
  );
});

const ASK_MS = 2_000;

/** While a turn waits in the queue, the host is asked how many are before it: it tells only of one's own. */
function usePosition(live: LiveTurn): void {
  const waits = live.turn.state === "queued";
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => {
      get<{ position: number | null }>(`/api/tasks/${encodeURIComponent(live.turn.id)}`).then(
        ({ position }) => {
          if (position === null || position === live.turn.position) return;
          live.turn.position = position;
          live.version.value++;
        },
        () => undefined,
      );
    }, ASK_MS);
    return () => clearInterval(timer);
  }, [live, waits]);
}

function Present({ turn }: { turn: Turn }): JSX.Element {
  return (
    <div class="reply">
      <div class="doing">
        <span class={turn.state === "waiting" ? "pulse waiting" : "pulse"} aria-hidden="true" />
        <span class="doing-text">{onOneLine(doing(turn), 120)}</span>
        {turn.usage.input_tokens + turn.usage.output_tokens > 0 && <span class="so-far">{soFar(turn)}</span>}
        <button type="button" class="quiet stop" onClick={() => void stop(turn.id)}>
          <Icon name="stop" /> Stop
        </button>
      </div>
      <Strip turn={turn} />
      <Items turn={turn} />
      {turn.answer !== "" && <Markdown text={turn.answer} growing />}
    </div>
  );
}

function Past({ turn }: { turn: Turn }): JSX.Element {
  return (
    <div class="reply">
      {turn.items.some(matters) && <Items turn={turn} only={matters} />}
      {turn.answer !== "" && <Markdown text={turn.answer} />}
      {turn.state === "failed" && <Failure turn={turn} />}
      {turn.state === "cancelled" && <p class="ending">Stopped. Nothing more was done.</p>}
      {turn.state === "completed" && ENDINGS[turn.finishReason] && <p class="ending">{ENDINGS[turn.finishReason]}</p>}
      <Behind turn={turn} />
    </div>
  );
}

/** Below the answer: what it took, and all that happened, folded. */
function Behind({ turn }: { turn: Turn }): JSX.Element {
  const [waterfall, setWaterfall] = useState(false);
  return (
    <footer class="behind">
      <Fold
        summary={<span>{inShort(turn)}</span>}
        class="what-happened"
      >
        {() => (
          <>
            <Strip turn={turn} />
            <Items turn={turn} only={(item) => !matters(item)} />
            {!turn.id.startsWith("seq:") && (
              <button type="button" class="quiet" aria-expanded={waterfall} onClick={() => setWaterfall(!waterfall)}>
                <Icon name="chart" /> {waterfall ? "Hide the waterfall" : "Show as a waterfall"}
              </button>
            )}
            {waterfall && <Waterfall task={turn.id} />}
          </>
        )}
      </Fold>
      {turn.answer !== "" && <CopyButton text={turn.answer} what="answer" />}
      {(turn.state === "failed" || turn.state === "cancelled") && (
        <IconButton icon="again" label="Try again" onClick={() => say(turn.text)} />
      )}
    </footer>
  );
}

function Failure({ turn }: { turn: Turn }): JSX.Element {
  const error = turn.error;
  return (
    <div class="failure" role="group" aria-label="Error">
      <p>
        <strong>This did not work.</strong> {visible(error?.message ?? "The turn failed.")}
      </p>
      <p class="hint">
        {error?.code}
        {error?.id ? `, number ${error.id} in the host's log` : ""}
      </p>
      <button type="button" onClick={() => say(turn.text)}>
        <Icon name="again" /> Try again
      </button>
    </div>
  );
}

function Items({ turn, only }: { turn: Turn; only?: (item: Item) => boolean }): JSX.Element | null {
  const items = only ? turn.items.filter(only) : turn.items;
  return items.length === 0 ? null : (
    <div class="items">
      {items.map((item) => {
        switch (item.kind) {
          case "tool":
            return <ToolCall key={item.key} item={{ ...item }} />;
          case "approval":
            return <Approval key={item.key} item={{ ...item }} over={isOver(turn)} />;
          case "plan":
            return <PlanOf key={item.key} item={item} turn={turn} />;
          case "note":
            return (
              <p key={item.key} class={`note ${item.tone}`}>
                {visible(item.text)}
              </p>
            );
        }
      })}
    </div>
  );
}

/** The plan of the turn; those that steps made for themselves are folded. */
function PlanOf({ item, turn }: { item: PlanItem; turn: Turn }): JSX.Element {
  if (item.run === turn.id) return <Plan plan={item.plan} steps={item.steps} />;
  return (
    <Fold class="decided" summary={<span>The step “{onOneLine(item.plan.goal, 80)}” has a plan of its own</span>}>
      {() => <Plan plan={item.plan} steps={item.steps} />}
    </Fold>
  );
}

/** What a person should see of a finished turn without unfolding it. */
function matters(item: Item): boolean {
  return (item.kind === "plan" && !item.run.includes("/")) || item.kind === "approval" || (item.kind === "note" && item.tone === "warning");
}

const ENDINGS: Record<string, string> = {
  length: "The model reached the length that one answer may have. Say “go on” for the rest.",
  budget_exceeded: "A limit of the budget ended this turn. Limits are in the host's settings, under Budget.",
  max_iterations: "The agent reached the number of rounds that one turn may have (AgentExecution.MaxToolIterations).",
  loop_detected: "The agent was going round in circles, and was stopped.",
};

function soFar(turn: Turn): string {
  const { input_tokens: into, output_tokens: out, cost_micros: micros } = turn.usage;
  return `${tokens(into + out)}${micros > 0 ? `, ${cost(micros)}` : ""}`;
}

function inShort(turn: Turn): string {
  const calls = turn.items.filter((item) => item.kind === "tool").length;
  const spent = turn.usage.input_tokens + turn.usage.output_tokens;
  return [
    calls > 0 ? plural(calls, "tool call") : "",
    ...(spent > 0 ? [tokens(spent), cost(turn.usage.cost_micros)] : []),
    turn.durationMs > 0 ? duration(turn.durationMs) : "",
    turn.models.length > 0 ? turn.models.map((model) => onOneLine(model, 40)).join(", ") : "",
  ]
    .filter((part) => part !== "")
    .join(" · ") || "What happened";
}
