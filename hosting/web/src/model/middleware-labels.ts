// Labels and descriptions of middlewares, and the middleware in which a turn currently is.
import type { Turn } from "./turn-reducer";
import { formatNumber } from "../text/format";
import { stateLabel } from "../text/state-labels";
import { t } from "../text/translate";

interface MiddlewareLabel {
  label: string;
  /** What it does, without a subject. */
  description: string;
}

const LABELS: Record<string, () => MiddlewareLabel> = {
  SessionEvents: () => ({ label: t("Session"), description: t("stores the conversation and emits events") }),
  Budget: () => ({ label: t("Budget"), description: t("enforces the limits on tokens and cost") }),
  CapabilityRouting: () => ({ label: t("Routing"), description: t("selects a model with the required capabilities") }),
  ContextWindow: () => ({ label: t("Window"), description: t("compacts the conversation to fit the model's context window") }),
  ToolFilter: () => ({ label: t("Tools"), description: t("selects the most relevant tools") }),
  PromptToolBridge: () => ({ label: t("Bridge"), description: t("describes tools in the prompt for models without function calling") }),
  Planning: () => ({ label: t("Plan"), description: t("splits complex tasks into steps") }),
  AgenticLoop: () => ({ label: t("Loop"), description: t("repeats model and tool calls until there is an answer, and detects loops") }),
  ParallelExecution: () => ({ label: t("Parallel"), description: t("runs tool calls in parallel") }),
  Approval: () => ({ label: t("Approval"), description: t("asks a person before risky actions") }),
  ToolExecution: () => ({ label: t("Run"), description: t("runs the tool") }),
  Learning: () => ({ label: t("Learn"), description: t("keeps finished turns and routes that went well") }),
  Scoring: () => ({ label: t("Score"), description: t("scores the answer") }),
  Classification: () => ({ label: t("Classify"), description: t("finds the task type and complexity of the message") }),
  Assembler: () => ({ label: t("Window"), description: t("assembles what the model sees") }),
  Transport: () => ({ label: t("Model"), description: t("calls the model") }),
  Agents: () => ({ label: t("Agents"), description: t("gives a message to the agent that answers it") }),
  CustomTools: () => ({ label: t("Own tools"), description: t("offers the user's own tools") }),
  DecisionLayer: () => ({ label: t("Decide"), description: t("answers by a rule where one can") }),
  Memory: () => ({ label: t("Memory"), description: t("adds what is remembered to the prompt") }),
  Preferences: () => ({ label: t("Preferences"), description: t("adds how the user wants to be answered") }),
  ActionAnnouncer: () => ({ label: t("Actions"), description: t("lists what was done, and takes back claims of what was not") }),
  ChainDefaults: () => ({ label: t("Defaults"), description: t("sets the published numbers of the chain") }),
  RequestBudget: () => ({ label: t("Calls"), description: t("limits the model calls of a request by how hard it is") }),
  SequentialExecution: () => ({ label: t("In turn"), description: t("judges and runs one tool call after the other") }),
  ToolSplit: () => ({ label: t("Tools"), description: t("offers the tools that the user may use") }),
  UrlOutcomes: () => ({ label: t("Addresses"), description: t("lists what became of each address that was called") }),
  SystemPrompt: () => ({ label: t("Prompt"), description: t("arranges the system prompt in sections") }),
  ReplyRedaction: () => ({ label: t("Redact"), description: t("replaces secrets in replies") }),
  ResponseValidator: () => ({ label: t("Check"), description: t("checks replies against what was done") }),
  Skills: () => ({ label: t("Skills"), description: t("offers the installed skills") }),
  ToolsOnDemand: () => ({ label: t("On demand"), description: t("loads further tools when they are asked for") }),
  Trace: () => ({ label: t("Trace"), description: t("records what the turn does and how long it takes") }),
  LlmInvoker: () => ({ label: t("Model"), description: t("calls the model") }),
};

/** The guards: in the strip they are one part, because a chain may have ten of them. */
const GUARDS = new Set(["Audit", "Redaction", "Authorization", "RateLimit", "Integrity", "InformationFlow", "Protection", "Shield", "Snapshot", "Simulation", "IntentGate", "Sandbox"]);

/** They note the end of a published stage for the trace, and do nothing to a turn. */
const MARKS = new Set(["PublishedStage", "StageMark"]);

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
    if (MARKS.has(name)) continue;
    if (!GUARDS.has(name)) parts.push({ names: [name], zone, ...middlewareLabel(name) });
    else if (last !== undefined && GUARDS.has(last.names[0] ?? "")) last.names.push(name);
    else parts.push({ names: [name], zone, label: t("Guards"), description: t("judge each tool call: block it, ask a person, or let it pass") });
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
  return LABELS[name]?.() ?? { label: name, description: t("a custom middleware of this host") };
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
      return turn.position > 0 ? t("queued, {count} ahead", { count: formatNumber(turn.position) }) : t("queued");
    case "waiting":
      return turn.detail === "plan" ? t("waiting for approval of the plan") : t("waiting for approval");
    case "completed":
    case "failed":
    case "cancelled":
      return stateLabel(turn.state);
  }
  switch (turn.status) {
    case "planning":
      return t("planning");
    case "calling_tool":
      return turn.detail ? t("running {tool}", { tool: turn.detail }) : t("running a tool");
    case "compacting":
      return t("compacting the conversation");
    case "retrying":
      return turn.detail ? t("retrying: {detail}", { detail: turn.detail }) : t("retrying");
    case "unknown":
      return t("running, as far as known");
    case "waiting_approval":
      return t("continuing");
    default:
      if (turn.answer !== "") return t("writing");
      return turn.detail ? t("thinking: {detail}", { detail: turn.detail }) : t("thinking");
  }
}
