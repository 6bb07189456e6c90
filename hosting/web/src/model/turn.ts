// A turn as a person sees it, made from its events: pure, so that replayed and live events give the same picture.
import type { Arguments, ErrorInfo, PlanInfo, Usage, WireEvent } from "../wire/protocol";

export type TurnState = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";

export interface ToolItem {
  kind: "tool";
  key: string;
  tool: string;
  arguments: Arguments;
  /** `running`, or how it ended. */
  outcome: string;
  durationMs: number;
  result: string;
  /** The step of the plan that it belongs to, or nothing. */
  step: string;
}

export interface ApprovalItem {
  kind: "approval";
  key: string;
  id: string;
  /** What is asked for: a tool call, a plan, a question. */
  about: string;
  tool: string;
  risk: string;
  arguments: Arguments;
  preview: string;
  editable: boolean;
  expiresAt: string | null;
  /** Empty while it is open. */
  decision: string;
  decidedBy: string;
  reason: string;
}

export interface NoteItem {
  kind: "note";
  key: string;
  tone: "quiet" | "warning";
  text: string;
}

export interface PlanItem {
  kind: "plan";
  key: string;
  /** Whose plan it is: the turn's, or that of a step which was too much for one. */
  run: string;
  plan: PlanInfo;
  steps: Record<string, StepState>;
}

export type Item = ToolItem | ApprovalItem | NoteItem | PlanItem;

export interface StepState {
  status: string;
  reason: string;
}

export interface Turn {
  id: string;
  text: string;
  state: TurnState;
  /** Tasks before it, while it is queued. */
  position: number;
  /** What the agent is doing now, as the host names it. */
  status: string;
  detail: string;
  epoch: number;
  /** The reply so far, or as it ended. */
  answer: string;
  /** Characters (code points, as the host counts them) of the reply that have come in this epoch. */
  received: number;
  items: Item[];
  models: string[];
  usage: Usage;
  durationMs: number;
  finishReason: string;
  error: ErrorInfo | null;
  /** Middlewares that had something to do, by name, with how often. */
  acted: Record<string, number>;
  /** Whether its beginning was seen; one that was not is shown from the session's log. */
  whole: boolean;
  /** Seq of the first of its messages in the session's log; 0 if unknown. */
  firstRecord: number;
}

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cost_micros: 0, cached_input_tokens: 0 };

export function newTurn(id: string): Turn {
  return {
    id,
    text: "",
    state: "queued",
    position: 0,
    status: "",
    detail: "",
    epoch: 0,
    answer: "",
    received: 0,
    items: [],
    models: [],
    usage: NO_USAGE,
    durationMs: 0,
    finishReason: "",
    error: null,
    acted: {},
    whole: false,
    firstRecord: 0,
  };
}

export function isOver(turn: Turn): boolean {
  return turn.state === "completed" || turn.state === "failed" || turn.state === "cancelled";
}

export function openApprovals(turn: Turn): ApprovalItem[] {
  if (isOver(turn)) return [];
  return turn.items.filter((item): item is ApprovalItem => item.kind === "approval" && item.decision === "");
}

/** The number of code points, which is how a host counts characters. */
export function characters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
}

/** Change a turn by an event of it. */
export function apply(turn: Turn, { event, data }: WireEvent): void {
  switch (event) {
    case "task_queued":
      turn.whole = true;
      turn.text = data.text;
      turn.position = data.position;
      return;
    case "task_started":
      turn.state = "running";
      act(turn, "SessionEvents");
      return;
    case "agent_status":
      turn.status = data.status;
      turn.detail = data.detail;
      if (!isOver(turn)) turn.state = data.status === "waiting_approval" ? "waiting" : "running";
      return;
    case "stream_chunk":
      return chunk(turn, data.epoch, data.text, data.offset);
    case "stream_reset":
      if (data.epoch >= turn.epoch) reset(turn, data.epoch);
      if (data.reason) note(turn, `reset:${data.epoch}`, "quiet", `The reply began anew: ${data.reason}`);
      return;
    case "tool_call_started":
      act(turn, "ToolExecution");
      if (turn.status !== "calling_tool") [turn.status, turn.detail] = ["calling_tool", data.tool]; // after a decision
      turn.items.push({
        kind: "tool",
        key: `${data.run_id}:${data.call_id}`,
        tool: data.tool,
        arguments: data.arguments,
        outcome: "running",
        durationMs: 0,
        result: "",
        step: stepOf(data.run_id),
      });
      if (turn.items.filter((item) => item.kind === "tool" && item.outcome === "running").length > 1)
        act(turn, "ParallelExecution");
      return;
    case "tool_call_completed": {
      const item = callOf(turn, data.run_id, data.call_id, data.tool);
      item.outcome = data.outcome;
      item.durationMs = data.duration_ms;
      item.result = data.result;
      return;
    }
    case "plan_proposed":
      act(turn, "Planning");
      return proposed(turn, data.run_id, data.plan);
    case "plan_step_changed": {
      const item = planOf(turn, data.run_id);
      if (item !== undefined) item.steps = { ...item.steps, [data.step_id]: { status: data.status, reason: data.reason } };
      return;
    }
    case "progress":
      act(turn, "AgenticLoop");
      note(turn, `progress:${data.iteration}`, "quiet", `${data.iteration} rounds, ${data.tool_calls} tool calls so far`);
      return;
    case "approval_requested":
      return asked(turn, data);
    case "approval_resolved": {
      const item = turn.items.find((each) => each.kind === "approval" && each.id === data.approval_id);
      if (item?.kind === "approval") {
        item.decision = data.decision;
        item.decidedBy = data.decided_by;
        item.reason = data.reason;
      }
      if (turn.state === "waiting" && openApprovals(turn).length === 0) turn.state = "running";
      return;
    }
    case "message":
      if (turn.firstRecord === 0) turn.firstRecord = Number(data.message_id.slice(data.message_id.lastIndexOf(":") + 1));
      if (data.role === "user" && data.run_id === turn.id) turn.text = data.content; // with the files that came with it
      if (data.role === "assistant") {
        if (turn.acted["LlmInvoker"] === undefined) act(turn, "LlmInvoker");
        show(turn, data.content);
      }
      return;
    case "budget_alert":
      act(turn, "Budget");
      note(turn, `budget:${data.name}:${data.share}`, "warning", budgetLine(data));
      return;
    case "model_attempt":
      return attempted(turn, data);
    case "context_compacted":
      act(turn, "ContextWindow");
      note(turn, `compacted:${data.seq ?? turn.items.length}`, "quiet", compactionLine(data));
      return;
    case "loop_warning":
      act(turn, "AgenticLoop");
      note(
        turn,
        `loop:${data.pattern}:${data.tool}:${data.count}`,
        "warning",
        data.detail || `${data.tool} was called ${data.count} times in the same way`,
      );
      return;
    case "session_titled":
      return;
    case "task_completed":
      return end(turn, "completed", data);
    case "task_cancelled":
      return end(turn, "cancelled", data);
    case "task_failed":
      turn.error = data.error;
      return end(turn, "failed", data);
  }
}

function chunk(turn: Turn, epoch: number, text: string, offset: number): void {
  if (epoch < turn.epoch || isOver(turn)) return;
  if (epoch > turn.epoch) reset(turn, epoch);
  // What overlaps with what is shown has come twice: after a break the host repeats the reply so far.
  const known = turn.received - offset;
  const news = known > 0 ? Array.from(text).slice(known).join("") : text;
  turn.answer += news;
  turn.received += characters(news);
}

function reset(turn: Turn, epoch: number): void {
  turn.epoch = epoch;
  turn.answer = "";
  turn.received = 0;
}

function show(turn: Turn, text: string): void {
  if (text === "" || text === turn.answer) return;
  turn.answer = text;
  turn.received = characters(text);
}

function end(
  turn: Turn,
  state: TurnState,
  data: { text: string; finish_reason: string; usage: Usage; duration_ms: number },
): void {
  turn.state = state;
  turn.status = turn.detail = "";
  show(turn, data.text);
  turn.usage = data.usage;
  turn.durationMs = data.duration_ms;
  turn.finishReason = data.finish_reason;
  for (const item of turn.items) if (item.kind === "tool" && item.outcome === "running") item.outcome = "cancelled";
  for (const item of turn.items) if (item.kind === "plan") item.steps = stopped(item.steps);
}

function stopped(steps: Record<string, StepState>): Record<string, StepState> {
  const ended = Object.entries(steps).map(([id, step]) => [id, step.status === "running" ? { status: "cancelled", reason: "" } : step]);
  return Object.fromEntries(ended) as Record<string, StepState>;
}

/** A plan that is made again takes the place of the one before. */
function proposed(turn: Turn, run: string, plan: PlanInfo): void {
  const known = planOf(turn, run);
  if (known !== undefined) {
    known.plan = plan;
    known.steps = {};
  } else turn.items.push({ kind: "plan", key: `plan:${run}`, run, plan, steps: {} });
}

function planOf(turn: Turn, run: string): PlanItem | undefined {
  return turn.items.find((item): item is PlanItem => item.kind === "plan" && item.run === run);
}

function asked(turn: Turn, data: Extract<WireEvent, { event: "approval_requested" }>["data"]): void {
  act(turn, data.kind === "plan" ? "Planning" : "Approval");
  if (!isOver(turn)) turn.state = "waiting";
  if (turn.items.some((item) => item.kind === "approval" && item.id === data.approval_id)) return;
  turn.items.push({
    kind: "approval",
    key: data.approval_id,
    id: data.approval_id,
    about: data.kind,
    tool: data.tool,
    risk: data.risk,
    arguments: data.arguments,
    preview: data.preview,
    editable: data.editable,
    expiresAt: data.expires_at,
    decision: "",
    decidedBy: "",
    reason: "",
  });
}

function attempted(turn: Turn, data: Extract<WireEvent, { event: "model_attempt" }>["data"]): void {
  if (data.purpose === "title") return; // made when the turn is over, and no part of it
  act(turn, "CapabilityRouting");
  if (data.purpose === "plan" || data.purpose === "vote") act(turn, "Planning");
  if (!isOver(turn)) turn.usage = sum(turn.usage, data.usage);
  if (data.outcome !== "ok") {
    const why = data.detail ? `${data.outcome}: ${data.detail}` : data.outcome;
    note(turn, `attempt:${data.seq ?? turn.items.length}`, "warning", `${data.model} did not answer (${why})`);
    return;
  }
  act(turn, "LlmInvoker");
  if (!turn.models.includes(data.model)) {
    if (turn.items.at(-1)?.key.startsWith("attempt:")) note(turn, `took:${data.model}`, "quiet", `${data.model} took over`);
    turn.models.push(data.model);
  }
}

/** A completed call that never began (it was refused before) has its item made now. */
function callOf(turn: Turn, run: string, call: string, tool: string): ToolItem {
  const key = `${run}:${call}`;
  const known = turn.items.findLast((item): item is ToolItem => item.kind === "tool" && item.key.startsWith(key));
  if (known?.outcome === "running") return known;
  const fresh: ToolItem = {
    kind: "tool",
    key: known === undefined ? key : `${key}:${turn.items.length}`,
    tool,
    arguments: {},
    outcome: "running",
    durationMs: 0,
    result: "",
    step: stepOf(run),
  };
  turn.items.push(fresh);
  return fresh;
}

function stepOf(run: string): string {
  const slash = run.indexOf("/");
  return slash < 0 ? "" : run.slice(slash + 1);
}

function act(turn: Turn, middleware: string): void {
  turn.acted[middleware] = (turn.acted[middleware] ?? 0) + 1;
}

function note(turn: Turn, key: string, tone: NoteItem["tone"], text: string): void {
  if (!turn.items.some((item) => item.key === key)) turn.items.push({ kind: "note", key, tone, text });
}

function sum(one: Usage, other: Usage): Usage {
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cost_micros: one.cost_micros + other.cost_micros,
    cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
  };
}

function budgetLine(data: { name: string; used: number; limit: number; share: number }): string {
  const share = Math.round(data.share * 100);
  return `${share >= 100 ? "The limit is met" : `${share}% of a limit is used`}: ${data.name}, ${data.used} of ${data.limit}`;
}

function compactionLine(data: { how: string; messages: number; tokens_before: number; tokens_after: number }): string {
  const how = data.how === "summary" ? "were summarised" : "were left out";
  const tokens = `${data.tokens_before.toLocaleString("en")} → ${data.tokens_after.toLocaleString("en")} tokens`;
  return `${data.messages} older messages ${how} to fit the model's window (${tokens})`;
}
