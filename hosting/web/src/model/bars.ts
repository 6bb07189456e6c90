// The bars of a waterfall, out of a turn's events with their times.
import type { WireEvent } from "../wire/protocol";

export interface Bar {
  label: string;
  kind: "queue" | "model" | "tool" | "wait" | "step";
  /** Milliseconds from the beginning of the turn, and how long. */
  begin: number;
  length: number;
}

/** An event and when it was. */
export type Timed = WireEvent & { at: string };

/** In the order in which they began. */
export function bars(events: readonly Timed[]): Bar[] {
  const zero = Math.min(...events.map(timeOf));
  const open = new Map<string, { bar: Bar; at: number }>();
  const done: Bar[] = [];
  const steps = new Map<string, string>();
  const begin = (key: string, label: string, kind: Bar["kind"], at: number): void => {
    open.set(key, { bar: { label, kind, begin: at - zero, length: 0 }, at });
  };
  const end = (key: string, at: number): void => {
    const found = open.get(key);
    if (found === undefined) return;
    open.delete(key);
    done.push({ ...found.bar, length: Math.max(0, at - found.at) });
  };
  for (const event of events) {
    const at = timeOf(event);
    const { event: name, data } = event;
    if (name === "plan_proposed") for (const step of data.plan.steps) steps.set(step.id, step.description);
    if (name === "task_queued") begin("queue", "in the queue", "queue", at);
    else if (name === "task_started") end("queue", at);
    else if (name === "tool_call_started") begin(`tool:${data.run_id}:${data.call_id}`, data.tool, "tool", at);
    else if (name === "tool_call_completed") end(`tool:${data.run_id}:${data.call_id}`, at);
    else if (name === "approval_requested") begin(`ask:${data.approval_id}`, `decision on ${data.kind === "plan" ? "the plan" : data.tool}`, "wait", at);
    else if (name === "approval_resolved") end(`ask:${data.approval_id}`, at);
    else if (name === "plan_step_changed" && data.status === "running") begin(`step:${data.step_id}`, steps.get(data.step_id) ?? `step ${data.step_id}`, "step", at);
    else if (name === "plan_step_changed") end(`step:${data.step_id}`, at);
    else if (name === "model_attempt" && data.purpose !== "title") {
      const label = data.outcome === "ok" ? `${data.model}, ${data.purpose}` : `${data.model}: ${data.outcome}`;
      done.push({ label, kind: "model", begin: Math.max(0, at - data.duration_ms - zero), length: data.duration_ms });
    }
  }
  return done.sort((one, other) => one.begin - other.begin);
}

function timeOf(event: Timed): number {
  return Date.parse(event.at);
}
