// Reducer of a turn's view state from its events; pure, so that replayed and live events give the same state.
import type { Arguments, ErrorInfo, PlanInfo, Usage, WireEvent } from "../wire/protocol";

export type TurnState = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";

export interface ToolItem {
  kind: "tool";
  key: string;
  tool: string;
  arguments: Arguments;
  /** `running`, or the final outcome. */
  outcome: string;
  durationMs: number;
  result: string;
  /** Id of the plan step it belongs to; empty if none. */
  step: string;
}

export interface ApprovalItem {
  kind: "approval";
  key: string;
  id: string;
  /** What requires approval: `tool`, `plan` or `question`. */
  subject: string;
  tool: string;
  risk: string;
  arguments: Arguments;
  preview: string;
  editable: boolean;
  expiresAt: string | null;
  /** Empty while the approval is open. */
  decision: string;
  decidedBy: string;
  reason: string;
}

export interface NoteItem {
  kind: "note";
  key: string;
  severity: "quiet" | "warning";
  text: string;
}

export interface PlanItem {
  kind: "plan";
  key: string;
  /** Run that owns the plan: the turn, or a step with its own plan. */
  runId: string;
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
  /** Number of tasks ahead while it is queued. */
  position: number;
  /** Status from the last `agent_status` event. */
  status: string;
  detail: string;
  epoch: number;
  /** The reply so far; the final answer once finished. */
  answer: string;
  /** Characters of the reply received in this epoch, in code points like the host's `offset`. */
  receivedCharacters: number;
  items: Item[];
  models: string[];
  usage: Usage;
  durationMs: number;
  finishReason: string;
  error: ErrorInfo | null;
  /** Number of times that each middleware acted, by name. */
  activeMiddlewares: Record<string, number>;
  /** Whether its first event was received; otherwise it is loaded from the session's records. */
  isComplete: boolean;
  /** Seq of its first stored message; 0 if unknown. */
  firstRecord: number;
}

export const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, cost_micros: 0, cached_input_tokens: 0 };

export function createTurn(id: string): Turn {
  return {
    id,
    text: "",
    state: "queued",
    position: 0,
    status: "",
    detail: "",
    epoch: 0,
    answer: "",
    receivedCharacters: 0,
    items: [],
    models: [],
    usage: NO_USAGE,
    durationMs: 0,
    finishReason: "",
    error: null,
    activeMiddlewares: {},
    isComplete: false,
    firstRecord: 0,
  };
}

export function isFinished(turn: Turn): boolean {
  return turn.state === "completed" || turn.state === "failed" || turn.state === "cancelled";
}

export function openApprovals(turn: Turn): ApprovalItem[] {
  if (isFinished(turn)) return [];
  return turn.items.filter((item): item is ApprovalItem => item.kind === "approval" && item.decision === "");
}

/** Counts code points, as the host does. */
export function countCharacters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
}

/** Applies an event to its turn, in place. */
export function applyEvent(turn: Turn, { event, data }: WireEvent): void {
  switch (event) {
    case "task_queued":
      turn.isComplete = true;
      turn.text = data.text;
      turn.position = data.position;
      return;
    case "task_started":
      turn.state = "running";
      markActive(turn, "SessionEvents");
      return;
    case "agent_status":
      turn.status = data.status;
      turn.detail = data.detail;
      if (!isFinished(turn)) turn.state = data.status === "waiting_approval" ? "waiting" : "running";
      return;
    case "stream_chunk":
      return appendChunk(turn, data.epoch, data.text, data.offset);
    case "stream_reset":
      if (data.epoch >= turn.epoch) resetReply(turn, data.epoch);
      if (data.reason) addNote(turn, `reset:${data.epoch}`, "quiet", `The reply restarted: ${data.reason}`);
      return;
    case "tool_call_started":
      markActive(turn, "ToolExecution");
      if (turn.status !== "calling_tool") [turn.status, turn.detail] = ["calling_tool", data.tool]; // after a decision
      turn.items.push({
        kind: "tool",
        key: `${data.run_id}:${data.call_id}`,
        tool: data.tool,
        arguments: data.arguments,
        outcome: "running",
        durationMs: 0,
        result: "",
        step: stepIdFromRun(data.run_id),
      });
      if (turn.items.filter((item) => item.kind === "tool" && item.outcome === "running").length > 1)
        markActive(turn, "ParallelExecution");
      return;
    case "tool_call_completed": {
      const item = findOrAddToolItem(turn, data.run_id, data.call_id, data.tool);
      item.outcome = data.outcome;
      item.durationMs = data.duration_ms;
      item.result = data.result;
      return;
    }
    case "plan_proposed":
      markActive(turn, "Planning");
      return addPlan(turn, data.run_id, data.plan);
    case "plan_step_changed": {
      const item = findPlan(turn, data.run_id);
      if (item !== undefined) item.steps = { ...item.steps, [data.step_id]: { status: data.status, reason: data.reason } };
      return;
    }
    case "progress":
      markActive(turn, "AgenticLoop");
      addNote(turn, `progress:${data.iteration}`, "quiet", `${data.iteration} rounds, ${data.tool_calls} tool calls so far`);
      return;
    case "approval_requested":
      return addApproval(turn, data);
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
      if (data.role === "user" && data.run_id === turn.id) turn.text = data.content; // includes its attachments
      if (data.role === "assistant") {
        if (turn.activeMiddlewares["LlmInvoker"] === undefined) markActive(turn, "LlmInvoker");
        setReply(turn, data.content);
      }
      return;
    case "budget_alert":
      markActive(turn, "Budget");
      addNote(turn, `budget:${data.name}:${data.share}`, "warning", describeBudgetAlert(data));
      return;
    case "model_attempt":
      return addModelAttempt(turn, data);
    case "context_compacted":
      markActive(turn, "ContextWindow");
      addNote(turn, `compacted:${data.seq ?? turn.items.length}`, "quiet", describeCompaction(data));
      return;
    case "loop_warning":
      markActive(turn, "AgenticLoop");
      addNote(
        turn,
        `loop:${data.pattern}:${data.tool}:${data.count}`,
        "warning",
        data.detail || `${data.tool} was called ${data.count} times in the same way`,
      );
      return;
    case "session_titled":
      return;
    case "task_completed":
      return finishTurn(turn, "completed", data);
    case "task_cancelled":
      return finishTurn(turn, "cancelled", data);
    case "task_failed":
      turn.error = data.error;
      return finishTurn(turn, "failed", data);
  }
}

function appendChunk(turn: Turn, epoch: number, text: string, offset: number): void {
  if (epoch < turn.epoch || isFinished(turn)) return;
  if (epoch > turn.epoch) resetReply(turn, epoch);
  // Skip text that was received before: after a reconnect the host repeats the reply so far.
  const overlap = turn.receivedCharacters - offset;
  const added = overlap > 0 ? Array.from(text).slice(overlap).join("") : text;
  turn.answer += added;
  turn.receivedCharacters += countCharacters(added);
}

function resetReply(turn: Turn, epoch: number): void {
  turn.epoch = epoch;
  turn.answer = "";
  turn.receivedCharacters = 0;
}

function setReply(turn: Turn, text: string): void {
  if (text === "" || text === turn.answer) return;
  turn.answer = text;
  turn.receivedCharacters = countCharacters(text);
}

function finishTurn(
  turn: Turn,
  state: TurnState,
  data: { text: string; finish_reason: string; usage: Usage; duration_ms: number },
): void {
  turn.state = state;
  turn.status = turn.detail = "";
  setReply(turn, data.text);
  turn.usage = data.usage;
  turn.durationMs = data.duration_ms;
  turn.finishReason = data.finish_reason;
  for (const item of turn.items) if (item.kind === "tool" && item.outcome === "running") item.outcome = "cancelled";
  for (const item of turn.items) if (item.kind === "plan") item.steps = cancelRunningSteps(item.steps);
}

function cancelRunningSteps(steps: Record<string, StepState>): Record<string, StepState> {
  const ended = Object.entries(steps).map(([id, step]) => [id, step.status === "running" ? { status: "cancelled", reason: "" } : step]);
  return Object.fromEntries(ended) as Record<string, StepState>;
}

/** Adds a plan, or replaces the earlier plan of the same run. */
function addPlan(turn: Turn, run: string, plan: PlanInfo): void {
  const known = findPlan(turn, run);
  if (known !== undefined) {
    known.plan = plan;
    known.steps = {};
  } else turn.items.push({ kind: "plan", key: `plan:${run}`, runId: run, plan, steps: {} });
}

function findPlan(turn: Turn, run: string): PlanItem | undefined {
  return turn.items.find((item): item is PlanItem => item.kind === "plan" && item.runId === run);
}

function addApproval(turn: Turn, data: Extract<WireEvent, { event: "approval_requested" }>["data"]): void {
  markActive(turn, data.kind === "plan" ? "Planning" : "Approval");
  if (!isFinished(turn)) turn.state = "waiting";
  if (turn.items.some((item) => item.kind === "approval" && item.id === data.approval_id)) return;
  turn.items.push({
    kind: "approval",
    key: data.approval_id,
    id: data.approval_id,
    subject: data.kind,
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

function addModelAttempt(turn: Turn, data: Extract<WireEvent, { event: "model_attempt" }>["data"]): void {
  if (data.purpose === "title") return; // generated after the turn, not part of it
  markActive(turn, "CapabilityRouting");
  if (data.purpose === "plan" || data.purpose === "vote") markActive(turn, "Planning");
  if (!isFinished(turn)) turn.usage = addUsage(turn.usage, data.usage);
  if (data.outcome !== "ok") {
    const reason = data.detail ? `${data.outcome}: ${data.detail}` : data.outcome;
    addNote(turn, `attempt:${data.seq ?? turn.items.length}`, "warning", `${data.model} failed (${reason})`);
    return;
  }
  markActive(turn, "LlmInvoker");
  if (!turn.models.includes(data.model)) {
    if (turn.items.at(-1)?.key.startsWith("attempt:")) addNote(turn, `fallback:${data.model}`, "quiet", `continued with ${data.model}`);
    turn.models.push(data.model);
  }
}

/** Returns the item of a call; adds one for a call that was refused before it started. */
function findOrAddToolItem(turn: Turn, run: string, call: string, tool: string): ToolItem {
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
    step: stepIdFromRun(run),
  };
  turn.items.push(fresh);
  return fresh;
}

function stepIdFromRun(run: string): string {
  const slash = run.indexOf("/");
  return slash < 0 ? "" : run.slice(slash + 1);
}

function markActive(turn: Turn, middleware: string): void {
  turn.activeMiddlewares[middleware] = (turn.activeMiddlewares[middleware] ?? 0) + 1;
}

function addNote(turn: Turn, key: string, tone: NoteItem["severity"], text: string): void {
  if (!turn.items.some((item) => item.key === key)) turn.items.push({ kind: "note", key, severity: tone, text });
}

function addUsage(one: Usage, other: Usage): Usage {
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cost_micros: one.cost_micros + other.cost_micros,
    cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
  };
}

function describeBudgetAlert(data: { name: string; used: number; limit: number; share: number }): string {
  const share = Math.round(data.share * 100);
  return `${share >= 100 ? "The limit is reached" : `${share}% of a limit is used`}: ${data.name}, ${data.used} of ${data.limit}`;
}

function describeCompaction(data: { how: string; messages: number; tokens_before: number; tokens_after: number }): string {
  const how = data.how === "summary" ? "were summarised" : "were left out";
  const tokens = `${data.tokens_before.toLocaleString("en")} → ${data.tokens_after.toLocaleString("en")} tokens`;
  return `${data.messages} older messages ${how} to fit the model's window (${tokens})`;
}
