// Reducer of a turn's view state from its events; pure, so that replayed and live events give the same state.
import type { HasLargeFields } from "../wire/large-texts";
import type { WireEvent } from "../wire/events";
import type { AttachmentDetail, ErrorDetail, EscalationDetail, LargeFieldReference, PlanDetail, UsageView } from "../wire/types";
import type { Arguments } from "./form-fields";
import { addVerdict, takeVerdicts, type GuardVerdict, type WaitingVerdicts } from "./guard-verdicts";
import { formatNumber, formatPercent } from "../text/format";
import { plural, t } from "../text/translate";

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
  /** What the guards said about it, in order. */
  verdicts: readonly GuardVerdict[];
  /** Id of the plan step it belongs to; empty if none. */
  step: string;
}

export interface ApprovalItem {
  kind: "approval";
  key: string;
  id: string;
  sessionId: string;
  /** What requires approval: `tool`, `plan` or `question`. */
  subject: string;
  tool: string;
  risk: string;
  arguments: Arguments;
  preview: string;
  /** The complete text if `preview` leaves something out, else empty. */
  fullPreview: string;
  /** Whether a part of what is to be approved could not be loaded. */
  isCut: boolean;
  editable: boolean;
  /** Whether the person who asked may only reject it. */
  needsOperator: boolean;
  /** Why a guard asks; null if the risk is the reason. */
  escalation: EscalationDetail | null;
  /** The arguments with which the call runs, if the person edited them. */
  editedArguments: Arguments | null;
  /** Which later calls an approval in advance would cover; empty if none is offered. */
  grantOffer: string;
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
  plan: PlanDetail;
  steps: Record<string, StepState>;
}

/** Text that the model wrote before tool calls. */
export interface TextItem {
  kind: "text";
  key: string;
  text: string;
}

/** Reasoning of the model about one reply. */
export interface ReasoningItem {
  kind: "reasoning";
  key: string;
  text: string;
  /** Whether it is still being streamed. */
  isOpen: boolean;
}

export type Item = ToolItem | ApprovalItem | NoteItem | PlanItem | TextItem | ReasoningItem;

export interface StepState {
  status: string;
  reason: string;
}

export interface Turn {
  id: string;
  text: string;
  /** Files of the message. */
  attachments: readonly AttachmentDetail[];
  state: TurnState;
  /** Number of tasks ahead while it is queued. */
  position: number;
  /** Status from the last `agent_status` event. */
  status: string;
  detail: string;
  epoch: number;
  /** The current reply so far; the last reply once finished. Texts before tool calls are items. */
  answer: string;
  /** Text of the current epoch: the texts before tool calls, and the current reply. */
  streamed: string;
  /** Characters of the text received in this epoch, in code points like the host's `offset`. */
  receivedCharacters: number;
  /** The whole text, if the answer is only its beginning. */
  largeText: LargeFieldReference | null;
  items: Item[];
  /** What guards said about calls that have no item yet, by the key of the item. */
  waitingVerdicts: WaitingVerdicts;
  models: string[];
  usage: UsageView;
  durationMs: number;
  /** When it began, as an ISO time; empty if unknown. */
  startedAt: string;
  finishReason: string;
  /** What was last said about the answer: -1 (bad) to 1 (good), 0 nothing. */
  rating: number;
  error: ErrorDetail | null;
  /** Number of times that each middleware acted, by name. */
  activeMiddlewares: Record<string, number>;
  /** Whether its first event was received; otherwise it is loaded from the session's records. */
  isComplete: boolean;
  /** Seq of its first stored message; 0 if unknown. */
  firstRecord: number;
  /** Seq of its last answer; 0 if unknown. */
  answerRecord: number;
}

export const NO_USAGE: UsageView = { input_tokens: 0, output_tokens: 0, cost_micros: 0, cached_input_tokens: 0, unpriced_tokens: 0 };

export function createTurn(id: string): Turn {
  return {
    id,
    text: "",
    attachments: [],
    state: "queued",
    position: 0,
    status: "",
    detail: "",
    epoch: 0,
    answer: "",
    streamed: "",
    receivedCharacters: 0,
    largeText: null,
    items: [],
    waitingVerdicts: {},
    models: [],
    usage: NO_USAGE,
    durationMs: 0,
    startedAt: "",
    finishReason: "",
    rating: 0,
    error: null,
    activeMiddlewares: {},
    isComplete: false,
    firstRecord: 0,
    answerRecord: 0,
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
      turn.attachments = data.attachments ?? [];
      turn.position = data.position;
      return;
    case "task_started":
      turn.state = "running";
      turn.startedAt ||= data.started_at;
      markActive(turn, "SessionEvents");
      return;
    case "agent_status":
      turn.status = data.status;
      turn.detail = data.detail;
      if (!isFinished(turn)) turn.state = data.status === "waiting_approval" ? "waiting" : "running";
      return;
    case "stream_chunk":
      return appendChunk(turn, data.epoch, data.text, data.offset);
    case "stream_reset": {
      // Who joins during a stream gets one, too: then nothing that was shown is taken back.
      const isRestart = data.epoch > turn.epoch && turn.streamed !== "";
      if (data.epoch >= turn.epoch) resetReply(turn, data.epoch);
      if (data.reason && isRestart) addNote(turn, `reset:${data.epoch}`, "quiet", t("The reply restarted: {reason}", { reason: data.reason }));
      return;
    }
    case "stream_completed":
      return;
    case "reasoning_chunk":
      if (isLateReasoning(turn, data)) return;
      return addReasoning(turn, data.reasoning_id, (known) => Array.from(known).slice(0, data.offset).join("") + data.text, true);
    case "reasoning":
      return addReasoning(turn, data.reasoning_id, () => data.text, false);
    case "tool_call_started":
      markActive(turn, "ToolExecution");
      // A resumed turn says once more that it waits, before it finds the decision.
      if (turn.state === "waiting" && openApprovals(turn).length === 0) turn.state = "running";
      if (turn.status !== "calling_tool") [turn.status, turn.detail] = ["calling_tool", data.tool]; // after a decision
      turn.items.push({ ...createToolItem(turn, data.run_id, data.call_id, data.tool), arguments: data.arguments });
      if (turn.items.filter(isRunningTool).length > 1) markActive(turn, "ParallelExecution");
      return;
    case "tool_call_completed": {
      const item = findOrAddToolItem(turn, data.run_id, data.call_id, data.tool);
      item.outcome = data.outcome;
      item.durationMs = data.duration_ms;
      item.result = data.result;
      if (turn.status === "calling_tool" && !turn.items.some(isRunningTool)) setThinking(turn);
      return;
    }
    case "guard_verdict":
      markActive(turn, data.guard);
      return applyVerdict(turn, data);
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
      addNote(turn, `progress:${data.iteration}`, "quiet", t("{rounds} rounds, {calls} tool calls so far", { rounds: formatNumber(data.iteration), calls: formatNumber(data.tool_calls) }));
      return;
    case "approval_requested":
      return addApproval(turn, data);
    case "approval_resolved": {
      const item = turn.items.find((each) => each.kind === "approval" && each.id === data.approval_id);
      if (item?.kind === "approval") {
        item.decision = data.decision;
        item.decidedBy = data.decided_by;
        item.reason = data.reason;
        item.editedArguments = data.arguments ?? null;
      }
      if (turn.state === "waiting" && openApprovals(turn).length === 0) turn.state = "running";
      return;
    }
    case "message":
      return addMessage(turn, data);
    case "budget_alert":
      markActive(turn, "Budget");
      addNote(turn, `budget:${data.provider}${data.task_type ?? ""}:${data.name}:${data.share}`, "warning", describeBudgetAlert(data));
      return;
    case "provider_excluded":
      markActive(turn, "Budget");
      addNote(turn, `excluded:${data.provider}:${data.limit}`, "warning", t("{provider} is not used: {reason}", { provider: data.provider, reason: data.reason }));
      return;
    case "decision":
      if (data.fast_path) addNote(turn, "decision", "quiet", t("Answered by {name}, without a model", { name: data.fast_path }));
      return;
    case "route_chosen":
      markActive(turn, "CapabilityRouting");
      addNote(turn, `route:${turn.items.length}`, "quiet", `${data.model || t("No model")}: ${data.reason}`);
      return;
    case "model_attempt":
      return addModelAttempt(turn, data);
    case "model_fallback":
      addNote(turn, `fallback:${turn.items.length}`, "quiet", t("Model call: {states}", { states: data.states.join(", ") }));
      return;
    case "stage_completed":
      return addStage(turn, data);
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
        data.detail || t("{tool} was called {count} times in the same way", { tool: data.tool, count: formatNumber(data.count) }),
      );
      return;
    case "answer_undelivered":
      addNote(turn, `undelivered:${data.seq ?? turn.items.length}`, "warning", describeUndelivered(data));
      return;
    case "feedback_recorded":
      turn.rating = data.value;
      return;
    case "session_titled":
    case "session_changed":
    case "session_deleted":
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
  if (offset > turn.receivedCharacters) return; // a piece before it is missing; the end of the turn has the whole text
  // Skip text that was received before: after a reconnect the host repeats the reply so far.
  const overlap = turn.receivedCharacters - offset;
  const added = overlap > 0 ? Array.from(text).slice(overlap).join("") : text;
  turn.streamed += added;
  turn.receivedCharacters += countCharacters(added);
  if (added !== "") setThinking(turn);
  turn.answer = textAfterItems(turn, turn.streamed);
}

/** The model is at work. The host does not repeat an `agent_status`: a page that joins later learns it from what followed. */
function setThinking(turn: Turn): void {
  turn.status = "thinking";
  turn.detail = "";
}

function isRunningTool(item: Item): boolean {
  return item.kind === "tool" && item.outcome === "running";
}

function resetReply(turn: Turn, epoch: number): void {
  turn.epoch = epoch;
  turn.answer = turn.streamed = "";
  turn.receivedCharacters = 0;
}

/** Sets the last reply from the whole text of the turn. */
function setText(turn: Turn, text: string): void {
  if (text === "") return;
  turn.streamed = text;
  turn.receivedCharacters = countCharacters(text);
  turn.answer = textAfterItems(turn, text);
}

/** The whole text as it was streamed, if that is the large text with this beginning; null if it is not. */
export function streamedWhole(turn: Turn, large: LargeFieldReference, head: string): string | null {
  return turn.receivedCharacters === large.characters && turn.streamed.startsWith(head) ? turn.streamed : null;
}

/** Replaces the beginning of the answer by the whole, which was loaded. */
export function completeText(turn: Turn, whole: string): void {
  turn.largeText = null;
  setText(turn, whole);
}

/** Returns what follows the texts that are items, if the whole text begins with them. */
export function textAfterItems(turn: Turn, whole: string): string {
  let rest = whole;
  for (const item of turn.items) {
    if (item.kind !== "text") continue;
    const text = rest.trimStart();
    if (text.startsWith(item.text.trim())) rest = text.slice(item.text.trim().length);
    else return item.text.trim().startsWith(text) ? "" : whole;
  }
  return rest === whole ? whole : rest.trimStart();
}

/** The whole text of the turn, in its order. */
export function fullText(turn: Turn): string {
  const texts = turn.items.filter((item): item is TextItem => item.kind === "text").map((item) => item.text);
  return [...texts, turn.answer].map((text) => text.trim()).filter((text) => text !== "").join("\n\n");
}

function addMessage(turn: Turn, data: Extract<WireEvent, { event: "message" }>["data"]): void {
  const stored = data.message_id.startsWith(`${data.session_id}:`) ? Number(data.message_id.slice(data.session_id.length + 1)) : 0;
  if (turn.firstRecord === 0) turn.firstRecord = stored;
  if (data.role === "user" && data.run_id === turn.id) turn.text = data.content; // includes its attachments
  if (data.role !== "assistant") return;
  if (turn.activeMiddlewares["LlmInvoker"] === undefined) markActive(turn, "LlmInvoker");
  if (stored > 0) [turn.answer, turn.answerRecord] = [data.content || turn.answer, stored];
  else addText(turn, data.message_id, data.content);
}

/** Adds the text of a reply with tool calls; a reply that was made again replaces its first text. */
function addText(turn: Turn, key: string, text: string): void {
  const known = turn.items.find((item): item is TextItem => item.kind === "text" && item.key === key);
  if (known !== undefined) known.text = text;
  else turn.items.push({ kind: "text", key, text });
  turn.answer = textAfterItems(turn, turn.streamed);
}

function addReasoning(turn: Turn, id: string, textFrom: (known: string) => string, isOpen: boolean): void {
  const key = `reasoning:${id}`;
  const known = turn.items.find((item): item is ReasoningItem => item.kind === "reasoning" && item.key === key);
  if (known !== undefined) Object.assign(known, { text: textFrom(known.text), isOpen });
  else turn.items.push({ kind: "reasoning", key, text: textFrom(""), isOpen });
}

/** Whether a piece arrives after the whole: during a join, pieces are held back while the replay has the reasoning already. */
function isLateReasoning(turn: Turn, piece: { reasoning_id: string; offset: number; text: string }): boolean {
  if (isFinished(turn)) return true;
  const known = turn.items.find((item): item is ReasoningItem => item.key === `reasoning:${piece.reasoning_id}` && item.kind === "reasoning");
  return known !== undefined && !known.isOpen && Array.from(known.text).slice(piece.offset).join("").startsWith(piece.text);
}

function finishTurn(
  turn: Turn,
  state: TurnState,
  data: { text: string; finish_reason: string; usage: UsageView; duration_ms: number } & HasLargeFields,
): void {
  turn.state = state;
  turn.status = turn.detail = "";
  // A text of an interrupted start that was not made again is no part of the answer.
  const large = data.large?.["text"] ?? null;
  if (data.text !== "" && large === null) turn.items = turn.items.filter((item) => item.kind !== "text" || data.text.includes(item.text.trim()));
  setText(turn, data.text);
  turn.largeText = large;
  turn.usage = data.usage;
  turn.durationMs = data.duration_ms;
  turn.finishReason = data.finish_reason;
  for (const item of turn.items) if (item.kind === "tool" && isRunningTool(item)) item.outcome = "cancelled";
  for (const item of turn.items) if (item.kind === "reasoning") item.isOpen = false;
  for (const item of turn.items) if (item.kind === "plan") item.steps = cancelRunningSteps(item.steps);
}

function cancelRunningSteps(steps: Record<string, StepState>): Record<string, StepState> {
  const ended = Object.entries(steps).map(([id, step]) => [id, step.status === "running" ? { status: "cancelled", reason: "" } : step]);
  return Object.fromEntries(ended) as Record<string, StepState>;
}

/** Adds a plan, or replaces the earlier plan of the same run. */
function addPlan(turn: Turn, run: string, plan: PlanDetail): void {
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
    sessionId: data.session_id,
    subject: data.kind,
    tool: data.tool,
    risk: data.risk,
    arguments: data.arguments,
    preview: data.preview,
    // An event that an older host stored has no complete text.
    fullPreview: data.full_preview ?? JSON.stringify(data.arguments, null, 2),
    isCut: isCut(data),
    editable: data.editable,
    needsOperator: data.needs_operator ?? false,
    escalation: data.escalation ?? null,
    editedArguments: null,
    grantOffer: data.grant_offer ?? "",
    expiresAt: data.expires_at,
    decision: "",
    decidedBy: "",
    reason: "",
  });
}

/** Whether a part of what an approval shows is missing. */
export function isCut(data: HasLargeFields): boolean {
  return Object.keys(data.large ?? {}).length > 0;
}

function addModelAttempt(turn: Turn, data: Extract<WireEvent, { event: "model_attempt" }>["data"]): void {
  if (data.purpose === "title") return; // generated after the turn, not part of it
  markActive(turn, "CapabilityRouting");
  if (data.purpose === "plan" || data.purpose === "vote") markActive(turn, "Planning");
  if (!isFinished(turn)) turn.usage = addUsage(turn.usage, data.usage);
  if (data.outcome !== "ok") {
    const reason = data.detail ? `${data.outcome}: ${data.detail}` : data.outcome;
    addNote(turn, `attempt:${data.seq ?? turn.items.length}`, "warning", t("{model} failed ({reason})", { model: data.model, reason }));
    return;
  }
  markActive(turn, "LlmInvoker");
  if (!turn.models.includes(data.model)) {
    if (turn.items.at(-1)?.key.startsWith("attempt:")) addNote(turn, `fallback:${data.model}`, "quiet", t("continued with {model}", { model: data.model }));
    turn.models.push(data.model);
  }
}

/** Returns the item of a call; adds one for a call that was refused before it started. */
function findOrAddToolItem(turn: Turn, run: string, call: string, tool: string): ToolItem {
  const key = `${run}:${call}`;
  const known = turn.items.findLast((item): item is ToolItem => item.kind === "tool" && item.key.startsWith(key));
  if (known?.outcome === "running") return known;
  const fresh = createToolItem(turn, run, call, tool);
  if (known !== undefined) fresh.key = `${key}:${turn.items.length}`;
  turn.items.push(fresh);
  return fresh;
}

/** Returns the item of a call that begins, with what the guards have said about it. */
function createToolItem(turn: Turn, run: string, call: string, tool: string): ToolItem {
  const key = `${run}:${call}`;
  const { verdicts, arguments: refused } = takeVerdicts(turn.waitingVerdicts, key);
  return { kind: "tool", key, tool, arguments: refused, outcome: "running", durationMs: 0, result: "", verdicts, step: stepIdFromRun(run) };
}

function applyVerdict(turn: Turn, data: Extract<WireEvent, { event: "guard_verdict" }>["data"]): void {
  const key = `${data.run_id}:${data.call_id}`;
  const { guard, verdict, rule, tier, reason } = data;
  const running = turn.items.findLast((item): item is ToolItem => item.kind === "tool" && item.key.startsWith(key) && item.outcome === "running");
  if (running !== undefined) running.verdicts = [...running.verdicts, { guard, verdict, rule, tier, reason }];
  else addVerdict(turn.waitingVerdicts, key, { guard, verdict, rule, tier, reason }, data.arguments ?? {});
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

function addUsage(one: UsageView, other: UsageView): UsageView {
  const reasoning = (one.reasoning_tokens ?? 0) + (other.reasoning_tokens ?? 0);
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cost_micros: one.cost_micros + other.cost_micros,
    cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
    unpriced_tokens: (one.unpriced_tokens ?? 0) + (other.unpriced_tokens ?? 0),
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {}),
  };
}

function describeUndelivered(data: { channel: string; parts: number; may_have_arrived: boolean; detail: string }): string {
  const said = plural(data.parts, "The answer was not delivered on {channel}.", "The answer ({count} messages) was not delivered on {channel}.", { channel: data.channel });
  return [said, data.may_have_arrived ? t("It may have arrived.") : "", data.detail].filter((part) => part !== "").join(" ");
}

const MIDDLEWARE_BY_STAGE: Record<string, string> = {
  classifier: "Classification",
  assembler: "Assembler",
  transport: "Transport",
  scorer: "Scoring",
  learner: "Learning",
};

/** Marks the stage's middleware; a note says what the classifier and the scorer found, of which nothing else tells. */
function addStage(turn: Turn, { stage, model_call, data }: { stage: string; model_call: number; data: Record<string, unknown> }): void {
  const middleware = MIDDLEWARE_BY_STAGE[stage];
  if (middleware !== undefined) markActive(turn, middleware);
  if (stage === "classifier" && model_call === 1) {
    addNote(turn, `stage:${stage}`, "quiet", t("Classified as {type}, complexity {complexity}, confidence {confidence}", { type: String(data.task_type), complexity: toHundredths(data.complexity), confidence: toHundredths(data.confidence) }));
  } else if (stage === "scorer" && data.overall !== undefined) {
    addNote(turn, `stage:${stage}`, "quiet", t("Answer scored {score}", { score: toHundredths(data.overall) }));
  }
}

function toHundredths(value: unknown): string {
  return typeof value === "number" ? formatNumber(value, 2) : t("unknown");
}

function describeBudgetAlert(data: {
  provider: string;
  name: string;
  used: number;
  limit: number;
  share: number;
  refused?: boolean;
  principal?: string;
  task_type?: string;
}): string {
  const values = { name: data.name, used: formatNumber(data.used), limit: formatNumber(data.limit) };
  if (data.refused) {
    if (data.principal) return t("A limit refuses calls of {user}: {name}, {used} of {limit} used", { ...values, user: data.principal });
    if (data.task_type) return t("A limit refuses calls for {type}: {name}, {used} of {limit} used", { ...values, type: data.task_type });
    return t("A limit refuses calls to {provider}: {name}, {used} of {limit} used", { ...values, provider: data.provider });
  }
  const share = Math.round(data.share * 100);
  if (share >= 100) return t("The limit is reached: {name}, {used} of {limit}", values);
  return t("{share} of a limit is used: {name}, {used} of {limit}", { ...values, share: formatPercent(share) });
}

function describeCompaction(data: { how: string; messages: number; tokens_before: number; tokens_after: number }): string {
  const values = { before: formatNumber(data.tokens_before), after: formatNumber(data.tokens_after) };
  switch (data.how) {
    case "results":
      return plural(data.messages, "A large tool result was cut, because the provider rejected the request", "{count} large tool results were cut, because the provider rejected the request");
    case "summary":
      return plural(data.messages, "An older message was summarised to fit the model's window ({before} → {after} tokens)", "{count} older messages were summarised to fit the model's window ({before} → {after} tokens)", values);
    default:
      return plural(data.messages, "An older message was left out to fit the model's window ({before} → {after} tokens)", "{count} older messages were left out to fit the model's window ({before} → {after} tokens)", values);
  }
}
