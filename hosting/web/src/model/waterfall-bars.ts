// Bars of the waterfall chart of a turn, computed from its timestamped events.
import type { WireEvent } from "../wire/events";
import { t } from "../text/translate";

export interface WaterfallBar {
  label: string;
  kind: "queue" | "model" | "tool" | "wait" | "step";
  /** Start and duration in milliseconds, relative to the start of the turn. */
  begin: number;
  duration: number;
}

/** An event with its time (ISO 8601). */
export type TimedEvent = WireEvent & { at: string | null };

/** Returns the bars in order of their start. */
export function buildWaterfallBars(events: readonly TimedEvent[]): WaterfallBar[] {
  const zero = Math.min(...events.map(timeOf));
  const open = new Map<string, { bar: WaterfallBar; at: number }>();
  const done: WaterfallBar[] = [];
  const steps = new Map<string, string>();
  const begin = (key: string, label: string, kind: WaterfallBar["kind"], at: number): void => {
    open.set(key, { bar: { label, kind, begin: at - zero, duration: 0 }, at });
  };
  const end = (key: string, at: number): void => {
    const started = open.get(key);
    if (started === undefined) return;
    open.delete(key);
    done.push({ ...started.bar, duration: Math.max(0, at - started.at) });
  };
  for (const event of events) {
    const at = timeOf(event);
    const { event: name, data } = event;
    if (name === "plan_proposed") for (const step of data.plan.steps) steps.set(step.id, step.description);
    if (name === "task_queued") begin("queue", t("in the queue"), "queue", at);
    else if (name === "task_started") end("queue", at);
    else if (name === "tool_call_started") begin(`tool:${data.run_id}:${data.call_id}`, data.tool, "tool", at);
    else if (name === "tool_call_completed") end(`tool:${data.run_id}:${data.call_id}`, at);
    else if (name === "approval_requested") begin(`ask:${data.approval_id}`, data.kind === "plan" ? t("approval of the plan") : t("approval of {tool}", { tool: data.tool }), "wait", at);
    else if (name === "approval_resolved") end(`ask:${data.approval_id}`, at);
    else if (name === "plan_step_changed" && data.status === "running") begin(`step:${data.step_id}`, steps.get(data.step_id) ?? t("step {step}", { step: data.step_id }), "step", at);
    else if (name === "plan_step_changed") end(`step:${data.step_id}`, at);
    else if (name === "model_attempt" && data.purpose !== "title") {
      const label = data.outcome === "ok" ? `${data.model}, ${data.purpose}` : `${data.model}: ${data.outcome}`;
      done.push({ label, kind: "model", begin: Math.max(0, at - data.duration_ms - zero), duration: data.duration_ms });
    }
  }
  return done.sort((one, other) => one.begin - other.begin);
}

function timeOf(event: TimedEvent): number {
  return Date.parse(event.at ?? "");
}
