// Types of the Socket.IO and HTTP payloads that the page uses (docs/protocol.md, docs/api.md).

import type { HasLargeFields } from "./large-texts";

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cost_micros: number;
  cached_input_tokens: number;
  /** Tokens of unknown price, whose cost is not in `cost_micros`; missing in events of an older host. */
  unpriced_tokens?: number;
  reasoning_tokens?: number;
}

export interface ErrorInfo {
  code: string;
  message: string;
  id?: string;
}

export interface PlanStep {
  id: string;
  description: string;
  depends_on: string[];
  tool_hints: string[];
  estimated_risk: string;
}

export interface PlanInfo {
  id: string;
  goal: string;
  steps: PlanStep[];
}

export type Arguments = Record<string, unknown>;

interface EventIds extends HasLargeFields {
  session_id: string;
  task_id: string;
  run_id: string;
  seq?: number;
}

/** Why a guard asks a person about a call. */
export interface Escalation {
  guard: string;
  rule: string;
  reason: string;
}

/** Verdict of a guard on a call: `allow`, `block` or `escalate`. */
export interface GuardVerdict extends Escalation {
  verdict: string;
  tier: number;
}

interface TaskOutcome {
  text: string;
  finish_reason: string;
  usage: Usage;
  duration_ms: number;
}

/** A file of a message; its bytes are at `/api/attachments/{id}`. */
export interface Attachment {
  id: string;
  name: string;
  media_type: string;
  size: number;
  tokens?: number;
}

export interface Payloads {
  task_queued: { position: number; text: string; attachments?: Attachment[] };
  task_started: { started_at: string };
  agent_status: { status: string; detail: string };
  stream_chunk: { epoch: number; text: string; offset: number };
  stream_reset: { epoch: number; reason: string };
  stream_completed: { epoch: number; length: number };
  reasoning_chunk: { reasoning_id: string; text: string; offset: number };
  reasoning: { reasoning_id: string; model: string; text: string };
  tool_call_started: { call_id: string; tool: string; arguments_digest: string; arguments: Arguments };
  guard_verdict: GuardVerdict & { call_id: string; tool?: string; arguments?: Arguments };
  tool_call_completed: { call_id: string; tool: string; outcome: string; duration_ms: number; result: string };
  agent_selected: { agent: string; rule: string };
  sub_agent_changed: {
    agent_id: string;
    agent: string;
    state: "spawning" | "working" | "completed" | "failed" | "timed_out" | "cancelled";
    parent_id: string;
    depth: number;
    task: string;
    detail: string;
    call_id?: string;
  };
  plan_proposed: { plan: PlanInfo };
  plan_step_changed: { step_id: string; status: string; reason: string };
  progress: { iteration: number; tool_calls: number; usage: Usage };
  approval_requested: {
    approval_id: string;
    kind: string;
    tool: string;
    risk: string;
    arguments: Arguments;
    preview: string;
    full_preview?: string;
    editable: boolean;
    needs_operator?: boolean;
    call_id?: string;
    escalation?: Escalation | null;
    grant_offer?: string;
    expires_at: string | null;
  };
  approval_resolved: { approval_id: string; decision: string; decided_by: string; reason: string; arguments?: Arguments | null };
  /** `origin` is missing unless a schedule sent the message. */
  message: { message_id: string; role: string; content: string; origin?: string };
  budget_alert: { provider: string; name: string; limit: number; used: number; share: number; refused?: boolean; principal?: string; task_type?: string };
  decision: {
    strategy: string;
    fast_path?: string;
    low_intent?: boolean;
    hits?: Record<string, number>;
  };
  route_chosen: {
    model: string;
    strategy: string;
    reason: string;
    tier?: string;
    task_type?: string;
    complexity?: number;
    flags?: string[];
  };
  provider_excluded: { provider: string; limit: string; reason: string; until: string | null };
  /** `key` is the number of the API key from 0; `span_id` is empty unless the trace is passed on to providers. */
  model_attempt: {
    purpose: string;
    model: string;
    outcome: string;
    duration_ms: number;
    usage: Usage;
    detail: string;
    key?: number | null;
    first_token_ms?: number | null;
    span_id?: string;
  };
  stage_completed: { stage: string; model_call: number; data: Record<string, unknown> };
  model_fallback: { purpose: string; states: string[]; max_transitions: number };
  /** What of skills, tools and memory stands in the prompts of the turn, with tokens. */
  skills_offered: { names: string[]; tokens: number; left_out: string[] };
  skill_loaded: { name: string; tokens: number };
  mcp_requested: { server: string; tool: string; protocol: string; duration_ms: number; questions: number; error: string };
  /** An MCP server has another state or other tools; for operators only. */
  mcp_server_changed: { server: string; state: string; error: string; tools: number; changed: number };
  custom_tool_changed: { tool: string; change: string; by: string };
  tools_offered: { names: string[]; tokens: number; by_group: Record<string, number> };
  memory_recalled: { entry_ids: string[]; files: string[]; tokens: number; parts: Record<string, number> };
  memory_learned: { entry_ids: string[]; texts: string[] };
  memory_flush: { entry_ids: string[]; texts: string[]; messages: number; file: string };
  context_compacted: { how: string; messages: number; tokens_before: number; tokens_after: number };
  loop_warning: { level: string; pattern: string; tool: string; count: number; detail: string };
  answer_undelivered: { channel: string; reason: string; parts: number; may_have_arrived: boolean; detail: string };
  /** What a person thinks of the answer: -1 (bad) to 1 (good), 0 if they took it back. */
  feedback_recorded: { value: number; source: string };
  schedule_fired: {
    schedule_id: string;
    title: string;
    due_at: string;
    outcome: "fired" | "missed" | "skipped" | "postponed" | "delayed" | "refused";
    reason: string;
    count: number;
  };
  schedule_changed: {
    schedule_id: string;
    change: string;
    title: string;
    reason: string;
    next_at: string | null;
  };
  session_titled: { title: string };
  /** A goal has another state, or `step` of its plan another `step_status`; `progress` is in percent. */
  goal_changed: {
    goal_id: string;
    state: string;
    reason: string;
    title: string;
    progress: number;
    step: string;
    step_status: string;
  };
  session_changed: { title: string; pinned: boolean; archived: boolean };
  session_deleted: Record<never, never>;
  task_completed: TaskOutcome & { tool_rounds?: number; fallback_attempts?: number; model?: string };
  task_failed: TaskOutcome & { error: ErrorInfo };
  task_cancelled: TaskOutcome;
}

export type EventName = keyof Payloads;

/** An event; `event` discriminates the type of `data`. */
export type WireEvent = { [Name in EventName]: { event: Name; data: Payloads[Name] & EventIds } }[EventName];

/** Answer to an import: counts, and the first 200 conversations of each kind by name. */
export interface ImportReport {
  imported: number;
  skipped: number;
  sessions: { session_id: string; title: string }[];
  not_imported: { title: string; reason: string }[];
}

export interface SessionSummary {
  session_id: string;
  title: string;
  pinned: boolean;
  archived: boolean;
  owner: string;
  messages: number;
  model: string | null;
  /** Planning mode of its messages; null if the settings decide. */
  planning: string | null;
  /** The session that it is a copy of, and the seq up to which it was copied. */
  forked_from: string | null;
  forked_at: number | null;
  /** Id of the first branch of the conversation; null without branches. */
  conversation: string | null;
  created_at: string;
  updated_at: string;
}

/** A message that a search has found; the marked parts of `snippet` match. */
export interface MessageHit {
  session_id: string;
  title: string;
  message_id: string;
  seq: number;
  role: string;
  at: string;
  snippet: { text: string; match: boolean }[];
}

/** Place in a session where its branches go different ways: the seq of the first message that differs. */
export interface BranchPoint {
  seq: number;
  /** One session per way. */
  options: readonly string[];
  /** Which of them is the way of this session. */
  index: number;
}

export interface ApprovalInfo extends HasLargeFields {
  approval_id: string;
  kind: string;
  session_id: string;
  task_id: string;
  tool: string;
  risk: string;
  arguments: Arguments;
  preview: string;
  full_preview: string;
  editable: boolean;
  needs_operator: boolean;
  escalation?: Escalation | null;
  edited_arguments?: Arguments | null;
  grant_offer: string;
  asked_at: string;
  expires_at: string | null;
  decision: string | null;
  decided_by: string | null;
  reason: string | null;
}

/** An approval in advance; `covers` is the pattern of arguments as text, `session_id` null for all conversations. */
export interface GrantInfo {
  grant_id: string;
  user: string;
  session_id: string | null;
  tool: string;
  covers: string;
  granted_by: string;
  expires_at: string;
}

export interface ToolCallInfo {
  id: string;
  name: string;
  arguments: Arguments;
}

/** A stored record of a session: a message, or the outcome of a turn without an answer. */
export interface LogRecord extends HasLargeFields {
  attachments?: Attachment[];
  seq: number;
  kind: string;
  task_id: string;
  at: string;
  role?: string;
  content?: string;
  tool_calls?: ToolCallInfo[];
  tool_call_id?: string;
  /** Of a tool message: `denied` if a guard or a person kept the call from running. */
  origin?: string;
  reasoning?: { text: string; model: string };
  data?: Record<string, unknown>;
}

export interface CurrentUser {
  user: string;
  operator: boolean;
  version: string;
  /** What the permission level lets the user do. */
  features: readonly string[];
}

export interface ToolInfo {
  name: string;
  description: string;
  risk: string;
  editable: boolean;
  parameters: JsonSchema;
}

export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  anyOf?: JsonSchema[];
}

export interface ChainInfo {
  explained: string;
  middlewares: { name: string; zone: string }[];
}

export interface ProviderInfo {
  provider: string;
  health: string;
  models: { model: string; context_window: number; function_calling: boolean; capabilities: string[] }[];
  attempts?: number;
  failures?: number;
  last_error?: string | null;
  circuit?: string;
  keys?: number;
  keys_cooling?: number;
  keys_disabled?: number;
  available_at?: string | null;
}

export interface ChannelInfo {
  name: string;
  state: string;
  /** For operators only. */
  detail?: string;
  account?: string;
}

/** What happens to a call by its risk: it runs, a person is asked, or an operator is. */
export type ToolAccess = "runs" | "asks" | "operator";

export interface RuleTableInfo {
  title: string;
  columns: string[];
  rows: string[][];
}

export interface GuardInfo {
  name: string;
  setting: string;
  enabled: boolean;
  enabled_by_default: boolean;
  /** Place in the chain; null if it does not stand there. */
  position: number | null;
  does: string;
  /** For operators only. */
  settings?: Record<string, unknown>;
  rules?: RuleTableInfo[];
}

export interface PolicyInfo {
  guards: GuardInfo[];
  approval: Record<string, unknown>;
  tools: { tool: string; risk: string; access: ToolAccess }[];
  /** For operators only. */
  operators?: string[];
  levels?: RuleTableInfo;
  policy?: RuleTableInfo;
}

export interface Assessment {
  source: string;
  verdict: string;
  tier: number;
  rule: string;
}

export interface CallTrial extends Assessment {
  risk: string | null;
  access: ToolAccess | null;
  assessments: (Assessment & { enforced: boolean })[];
}

/** A dead letter of the queue (`task`), or a message to a chat that could not be delivered (`message`). */
export interface DeadLetter {
  kind: "task" | "message";
  id: string;
  channel?: string;
  chat?: string;
  error?: string;
  may_have_arrived?: boolean;
  created_at?: string;
  died_at?: string;
}

export interface UsageRow extends Usage {
  day: string;
  provider: string;
  model: string;
  calls: number;
}

export interface LimitRow {
  provider: string;
  tokens_today: number;
  daily_tokens: number | null;
  day_ends: string;
  cost_micros_this_month: number;
  monthly_cost_micros: number | null;
  month_ends: string;
}

/** An entry of the long-term memory; `sources` are the untrusted texts that it may come from, null if unknown. */
export interface MemoryItem {
  id: string;
  text: string;
  category: string;
  trusted: boolean;
  sources: string[] | null;
  created_at: string;
}

export interface WorkspaceFileRow {
  name: string;
  /** Whether it is everybody's; only operators see such a file. */
  shared: boolean;
  max_bytes: number;
}

export interface WorkspaceFile {
  name: string;
  text: string;
  /** "" for a file that is not there. */
  version: string;
}

export interface ScheduleInfo {
  schedule_id: string;
  session_id: string;
  title: string;
  text: string;
  /** When it runs, in words. */
  runs: string;
  state: string;
  reason: string | null;
  next: string[];
}

export interface GoalInfo {
  goal_id: string;
  session_id: string;
  title: string;
  state: string;
  reason: string;
  autonomy: string;
  /** In per cent. */
  progress: number;
  updated_at: string;
}

export interface AgentInfo {
  name: string;
  description: string;
  model: string | null;
  tools: string[] | null;
}

export interface SkillInfo {
  name: string;
  description: string;
  enabled: boolean;
  tokens: number;
  /** Whether a person may call it with `/name`; what may follow is hinted. */
  callable: boolean;
  argument_hint: string;
}

export interface McpServerInfo {
  id: string;
  state: string;
  error: string;
  tools: unknown[];
}

/** How a turn went, without its parts. */
export interface TraceSummary {
  run_id: string;
  session_id: string;
  principal: string;
  channel: string;
  started_at: string;
  status: string;
  working_ms: number;
  usage: Usage;
  model?: string;
  tools_count: number;
}

export interface TraceAttempt {
  model: string;
  purpose: string;
  outcome: string;
  detail: string;
  start_ms: number;
  duration_ms: number;
  first_token_ms: number | null;
  usage: Usage;
  step: string;
}

export interface TraceTool {
  call_id: string;
  tool: string;
  outcome: string;
  arguments: string;
  start_ms: number;
  duration_ms: number;
  risk: string;
  verdicts: { guard: string; verdict: string; rule: string }[];
  step: string;
}

export interface TraceNote {
  kind: string;
  start_ms: number;
  data: Record<string, unknown>;
  step: string;
}

export interface TraceDetails extends TraceSummary {
  error: { code?: string; message?: string };
  attempts: TraceAttempt[];
  tools: TraceTool[];
  approvals: { approval_id: string; kind: string; tool: string; start_ms: number; decided_ms: number | null; decision: string; decided_by: string }[];
  steps: { id: string; status: string; start_ms: number; duration_ms: number; reason: string }[];
  agents: { id: string; agent: string; state: string; start_ms: number; duration_ms: number; reason: string; call_id: string; step: string }[];
  notes: TraceNote[];
  stages: { name: string; zone: string; calls: number; own_ms: number; total_ms: number; outcome: string }[];
}

/** A stored message of a turn, as `/api/traces/{task_id}/messages` returns it. */
export interface TurnMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  tool_calls?: { id: string; name: string; arguments: Record<string, unknown> }[];
  tool_call_id?: string;
}

export interface ReplaySide {
  answer: string;
  chain: string | null;
  model: string | null;
  usage: Usage | null;
  working_ms: number | null;
  status: string | null;
  error: { code?: string; message?: string } | null;
  tools: TraceTool[];
  routes: TraceNote[];
}

export interface ReplayComparison {
  task_id: string;
  message: string;
  original: ReplaySide;
  replay: ReplaySide & { asked: string[]; reused: number; missing: number };
}

/** A model that a provider lists; prices are in USD per million tokens, null if they are unknown. */
export interface OfferedModel {
  model: string;
  context_window: number;
  function_calling: boolean;
  prices: { input: number; output: number } | null;
  is_free: boolean;
}

/** What `GET /api/setup` says; never a key. */
export interface SetupInfo {
  /** Why nothing can be set up here; empty if it can. */
  obstacle: string;
  saved: { id: string; type: string; model: string | null; base_url: string | null; has_key: boolean } | null;
  in_use: { provider: string; model: string }[];
  is_offline: boolean;
  types: { type: string; model: string; needs_key: boolean; needs_url: boolean }[];
}

/** A setting of the running host. */
export interface SettingRow {
  path: string;
  value: unknown;
  /** null: the default; "the chain NAME": its default. */
  source: string | null;
  description: string;
  can_change: boolean;
  choices: string[];
}

/** An entry of the audit log. */
export interface AuditRow {
  number: number;
  at: string;
  event: string;
  session_id: string;
  principal: string;
  tool: string;
  capability: string;
  risk: string;
  guard: string;
  rule: string;
  outcome: string;
  input?: string | null;
  reason?: string | null;
  output?: string | null;
}

export interface HostUser {
  user: string;
  principal: string;
  operator: boolean;
  level: string;
  can_have_tokens: boolean;
}

export interface TokenInfo {
  id: string;
  user: string;
  name: string;
  scopes: string[];
  status: string;
  expires_at: string | null;
  last_used_at: string | null;
}

export interface LogRow {
  number: number;
  at: string;
  level: string;
  logger: string;
  text: string;
}

export interface RoutingInfo {
  strategy: string;
  tiers: { name: string; models: string[]; complexity: number[] }[];
  items: { model: string; tier: string; task_type: string; calls: number; failures: number; cost_micros: number | null; latency_ms: number | null; quality: number | null; rated: number; said: number | null }[];
}
