// Labels and descriptions of middlewares, and the middleware in which a turn currently is.
import type { Turn } from "./turn-reducer";

interface MiddlewareLabel {
  label: string;
  /** What it does, without a subject. */
  description: string;
}

const LABELS: Record<string, MiddlewareLabel> = {
  SessionEvents: { label: "Session", description: "stores the conversation and emits events" },
  Budget: { label: "Budget", description: "enforces the limits on tokens and cost" },
  CapabilityRouting: { label: "Routing", description: "selects a model with the required capabilities" },
  ContextWindow: { label: "Window", description: "compacts the conversation to fit the model's context window" },
  ToolFilter: { label: "Tools", description: "selects the most relevant tools" },
  PromptToolBridge: { label: "Bridge", description: "describes tools in the prompt for models without function calling" },
  Planning: { label: "Plan", description: "splits complex tasks into steps" },
  AgenticLoop: { label: "Loop", description: "repeats model and tool calls until there is an answer, and detects loops" },
  ParallelExecution: { label: "Parallel", description: "runs tool calls in parallel" },
  Approval: { label: "Approval", description: "asks a person before risky actions" },
  ToolExecution: { label: "Run", description: "runs the tool" },
  Learning: { label: "Learn", description: "keeps finished turns and routes that went well" },
  Scoring: { label: "Score", description: "scores the answer" },
  Classification: { label: "Classify", description: "finds the task type and complexity of the message" },
  Assembler: { label: "Window", description: "assembles what the model sees" },
  Transport: { label: "Model", description: "calls the model" },
  LlmInvoker: { label: "Model", description: "calls the model" },
};

/** The guards: in the strip they are one part, because a chain may have ten of them. */
const GUARDS = new Set(["Audit", "Redaction", "Authorization", "RateLimit", "Integrity", "InformationFlow", "Protection", "Shield", "Snapshot", "Simulation"]);

export interface StripPart extends MiddlewareLabel {
  /** Names of the middlewares, in the order of the chain. */
  names: string[];
  zone: string;
}

/** Returns the parts of the strip: one for each middleware, and one for guards that follow each other. */
export function stripParts(middlewares: readonly { name: string; zone: string }[]): StripPart[] {
  const parts: StripPart[] = [];
  for (const { name, zone } of middlewares) {
    const last = parts.at(-1);
    if (!GUARDS.has(name)) parts.push({ names: [name], zone, ...middlewareLabel(name) });
    else if (last !== undefined && GUARDS.has(last.names[0] ?? "")) last.names.push(name);
    else parts.push({ names: [name], zone, label: "Guards", description: "judge each tool call: block it, ask a person, or let it pass" });
  }
  return parts;
}

const MIDDLEWARE_BY_STATUS: Record<string, string> = {
  thinking: "LlmInvoker",
  retrying: "LlmInvoker",
  planning: "Planning",
  calling_tool: "ToolExecution",
  waiting_approval: "Approval",
  compacting: "ContextWindow",
};

export function middlewareLabel(name: string): MiddlewareLabel {
  return LABELS[name] ?? { label: name, description: "a custom middleware of this host" };
}

/** Returns the middleware in which a turn currently is; empty if it is queued or finished. */
export function currentMiddleware(turn: Turn): string {
  if (turn.state !== "running" && turn.state !== "waiting") return "";
  if (turn.status === "waiting_approval" && turn.detail === "plan") return "Planning";
  return MIDDLEWARE_BY_STATUS[turn.status] ?? "SessionEvents";
}

/** Describes the current activity of a turn. */
export function describeActivity(turn: Turn): string {
  switch (turn.state) {
    case "queued":
      return turn.position > 0 ? `queued, ${turn.position} ahead` : "queued";
    case "waiting":
      return turn.detail === "plan" ? "waiting for approval of the plan" : "waiting for approval";
    case "completed":
    case "failed":
    case "cancelled":
      return turn.state;
  }
  switch (turn.status) {
    case "planning":
      return "planning";
    case "calling_tool":
      return turn.detail ? `running ${turn.detail}` : "running a tool";
    case "compacting":
      return "compacting the conversation";
    case "retrying":
      return turn.detail ? `retrying: ${turn.detail}` : "retrying";
    case "waiting_approval":
      return "continuing";
    default:
      return turn.answer === "" ? "thinking" : "writing";
  }
}
