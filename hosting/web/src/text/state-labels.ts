// States, outcomes and risks that the host sends as codes, in the reader's language.
import { t } from "./translate";
import { toOneLine } from "./escape-controls";

const STATES: Readonly<Record<string, () => string>> = {
  active: () => t("active"),
  archived: () => t("archived"),
  blocked: () => t("blocked"),
  cancelled: () => t("cancelled"),
  changed: () => t("changed"),
  completed: () => t("completed"),
  degraded: () => t("degraded"),
  denied: () => t("denied"),
  detached: () => t("detached"),
  disabled: () => t("disabled"),
  discarded: () => t("discarded"),
  done: () => t("done"),
  enabled: () => t("enabled"),
  failed: () => t("failed"),
  finished: () => t("finished"),
  offered: () => t("offered"),
  ok: () => t("ok"),
  paused: () => t("paused"),
  pending: () => t("pending"),
  planning: () => t("planning"),
  queued: () => t("queued"),
  ready: () => t("ready"),
  running: () => t("running"),
  skipped: () => t("skipped"),
  starting: () => t("starting"),
  stopped: () => t("stopped"),
  suspended: () => t("waiting for approval"),
  timed_out: () => t("timed out"),
  unavailable: () => t("unavailable"),
  unusable: () => t("unusable"),
  waiting: () => t("waiting"),
};

/** The name of a state; one that the page does not know is shown as the host sent it. */
export function stateLabel(state: string): string {
  return Object.hasOwn(STATES, state) ? STATES[state]!() : toOneLine(state, 60);
}

const RISKS: Readonly<Record<string, { word: () => string; label: () => string }>> = {
  none: { word: () => t("none"), label: () => t("no risk") },
  low: { word: () => t("low"), label: () => t("low risk") },
  medium: { word: () => t("medium"), label: () => t("medium risk") },
  high: { word: () => t("high"), label: () => t("high risk") },
  critical: { word: () => t("critical"), label: () => t("critical risk") },
};

/** A risk in a column of risks: "high". */
export function riskWord(risk: string): string {
  return Object.hasOwn(RISKS, risk) ? RISKS[risk]!.word() : toOneLine(risk, 30);
}

/** A risk that stands alone: "high risk". */
export function riskLabel(risk: string): string {
  return Object.hasOwn(RISKS, risk) ? RISKS[risk]!.label() : t("{risk} risk", { risk: toOneLine(risk, 30) });
}
