// Codes of a trace in the reader's language: purposes and outcomes of model calls, decisions, verdicts and notes.
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { codeText } from "../../text/error-text";
import { stateLabel } from "../../text/state-labels";
import { t } from "../../text/translate";

type Texts = Readonly<Record<string, () => string>>;

const PURPOSES: Texts = {
  reply: () => t("reply"),
  step: () => t("step of a plan"),
  plan: () => t("making a plan"),
  vote: () => t("choice of a plan"),
  compaction: () => t("summary of older messages"),
  title: () => t("title of the conversation"),
  memory: () => t("notes for the memory"),
  simulation: () => t("simulation"),
  evaluation: () => t("evaluation"),
  embedding: () => t("embedding"),
};

const DECISIONS: Texts = {
  approve: () => t("approved"),
  reject: () => t("rejected"),
  edit: () => t("approved with other arguments"),
  answer: () => t("answered"),
  suspend: () => t("not decided in time"),
};

const SUBJECTS: Texts = {
  plan: () => t("plan"),
  question: () => t("question"),
  tool: () => t("tool call"),
};

const VERDICTS: Texts = {
  allow: () => t("allowed"),
  escalate: () => t("to be approved"),
  verify: () => t("to be approved"),
  block: () => t("blocked"),
};

const NOTES: Texts = {
  budget_alert: () => t("Limit"),
  context_compacted: () => t("History shortened"),
  decision: () => t("Decision"),
  loop_warning: () => t("Warning of a loop"),
  model_fallback: () => t("Another model"),
  plan_proposed: () => t("Plan"),
  provider_excluded: () => t("Provider not used"),
  route_chosen: () => t("Choice of the model"),
  stage_completed: () => t("Stage completed"),
  tools_offered: () => t("Tools offered"),
};

export const purposeLabel = (purpose: string): string => label(PURPOSES, purpose);
export const decisionLabel = (decision: string): string => label(DECISIONS, decision);
export const subjectLabel = (kind: string): string => label(SUBJECTS, kind);
export const verdictLabel = (verdict: string): string => label(VERDICTS, verdict);
export const noteLabel = (kind: string): string => label(NOTES, kind);

/** The outcome of a model call: `ok`, or the code of an error. */
export function attemptLabel(outcome: string): string {
  return outcome === "ok" ? stateLabel(outcome) : (codeText(outcome) ?? label({}, outcome));
}

/** A code that the page does not know is shown with spaces. */
function label(texts: Texts, code: string): string {
  return Object.hasOwn(texts, code) ? texts[code]!() : toOneLine(escapeControls(code.replaceAll("_", " ")), 60);
}
