// Verdicts of the guards on tool calls: kept until the call has an item, and read from the result of a blocked call.
import type { Payloads } from "../wire/events";
import type { Arguments } from "./form-fields";

/** Verdict of a guard on a call. */
export type GuardVerdict = Pick<Payloads["guard_verdict"], "guard" | "verdict" | "rule" | "tier" | "reason">;

/** Verdicts by the key of a call that has no item yet, and the arguments of a call that is blocked. */
export type WaitingVerdicts = Record<string, { verdicts: readonly GuardVerdict[]; arguments: Arguments }>;

/** Adds a verdict; a turn that is resumed is judged again, with the same verdict. */
export function addVerdict(waiting: WaitingVerdicts, key: string, verdict: GuardVerdict, refused: Arguments): void {
  const known = waiting[key]?.verdicts ?? [];
  const isKnown = known.some((each) => each.guard === verdict.guard && each.verdict === verdict.verdict && each.rule === verdict.rule);
  waiting[key] = { verdicts: isKnown ? known : [...known, verdict], arguments: { ...waiting[key]?.arguments, ...refused } };
}

/** Removes and returns the verdicts on a call. */
export function takeVerdicts(waiting: WaitingVerdicts, key: string): WaitingVerdicts[string] {
  const found = waiting[key] ?? { verdicts: [], arguments: {} };
  delete waiting[key];
  return found;
}

/** Returns the verdict that has blocked a call; undefined if none has. */
export function findBlock(verdicts: readonly GuardVerdict[]): GuardVerdict | undefined {
  return verdicts.find((each) => each.verdict === "block");
}

/** Returns the verdict that the host wrote as the result of a blocked call; undefined for a call that a person denied. */
export function blockFromResult(result: string): GuardVerdict | undefined {
  const found = /^blocked by ([\w-]+) \(([^)\n]*)\): ([^]*)$/.exec(result);
  if (found === null) return undefined;
  const [, guard = "", rule = "", reason = ""] = found;
  return { guard, verdict: "block", rule, tier: 0, reason };
}
