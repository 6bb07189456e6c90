// What the middlewares of a chain are called for people, and in which of them a turn is.
import type { Turn } from "./turn";

interface Layer {
  label: string;
  /** What it does, in half a sentence. */
  does: string;
}

const LAYERS: Record<string, Layer> = {
  SessionEvents: { label: "Session", does: "keeps the conversation and tells what happens" },
  Budget: { label: "Budget", does: "holds the limits of tokens and money" },
  CapabilityRouting: { label: "Routing", does: "chooses the model that can do it" },
  ContextWindow: { label: "Window", does: "makes the conversation fit the model" },
  ToolFilter: { label: "Tools", does: "offers the ten tools that fit the question" },
  PromptToolBridge: { label: "Bridge", does: "gives tools to models that cannot call functions" },
  Planning: { label: "Plan", does: "makes steps of what is too much for one" },
  AgenticLoop: { label: "Loop", does: "goes round until the answer is there, and notices when it runs in circles" },
  ParallelExecution: { label: "Parallel", does: "runs tool calls at the same time" },
  Approval: { label: "Approval", does: "asks before something risky is done" },
  ToolExecution: { label: "Run", does: "runs the tool" },
  LlmInvoker: { label: "Model", does: "asks the model" },
};

const AT: Record<string, string> = {
  thinking: "LlmInvoker",
  retrying: "LlmInvoker",
  planning: "Planning",
  calling_tool: "ToolExecution",
  waiting_approval: "Approval",
  compacting: "ContextWindow",
};

export function layerOf(name: string): Layer {
  return LAYERS[name] ?? { label: name, does: "a middleware of this host's own" };
}

/** The middleware in which a turn is now; empty where it waits for its turn or is over. */
export function whereIs(turn: Turn): string {
  if (turn.state !== "running" && turn.state !== "waiting") return "";
  if (turn.status === "waiting_approval" && turn.detail === "plan") return "Planning";
  return AT[turn.status] ?? "SessionEvents";
}

/** What a turn is doing, in words. */
export function doing(turn: Turn): string {
  switch (turn.state) {
    case "queued":
      return turn.position > 0 ? `queued, ${turn.position} ahead` : "queued";
    case "waiting":
      return turn.detail === "plan" ? "waits for your decision on the plan" : "waits for a decision";
    case "completed":
    case "failed":
    case "cancelled":
      return turn.state;
  }
  switch (turn.status) {
    case "planning":
      return "makes a plan";
    case "calling_tool":
      return turn.detail ? `runs ${turn.detail}` : "runs a tool";
    case "compacting":
      return "shortens the conversation to fit the model";
    case "retrying":
      return turn.detail ? `tries again: ${turn.detail}` : "tries again";
    case "waiting_approval":
      return "goes on";
    default:
      return turn.answer === "" ? "thinks" : "writes";
  }
}
