// Tree of a trace: model calls, tool calls, approvals and notes in order of time, nested by plan step and sub-agent.
import type { RecordView, TraceAttempt, TraceDetails, TraceNote, TraceTool } from "../../wire/types";

export type TraceRow =
  | { kind: "attempt"; key: string; start: number; duration: number; attempt: TraceAttempt; prompt: RecordView | null; reply: RecordView | null }
  | { kind: "tool"; key: string; start: number; duration: number; call: TraceTool; arguments: string; result: string | null; children: TraceRow[] }
  | { kind: "approval"; key: string; start: number; duration: number; approval: TraceDetails["approvals"][number] }
  | { kind: "note"; key: string; start: number; duration: number; note: TraceNote }
  | { kind: "step"; key: string; start: number; duration: number; label: string; status: string; reason: string; children: TraceRow[] };

/** Returns the rows of a turn; the messages are those that are stored of it, as far as the reader may see them. */
export function buildTraceTree(trace: TraceDetails, messages: readonly RecordView[]): TraceRow[] {
  const groups = new Map<string, TraceRow[]>([["", []]]);
  const rows = (step: string): TraceRow[] => {
    const known = groups.get(step) ?? [];
    groups.set(step, known);
    return known;
  };
  const replies = messages.flatMap((message, index) => (message.role === "assistant" ? [index] : []));
  const results = new Map(messages.filter((each) => each.role === "tool").map((each) => [each.tool_call_id, each.content]));
  const given = new Map(messages.flatMap((each) => each.tool_calls ?? []).map((each) => [each.id, JSON.stringify(each.arguments)]));
  let answered = 0;
  trace.attempts.forEach((attempt, index) => {
    // Of the turn itself each successful reply is a stored message; those of steps and sub-agents are not stored.
    const at = attempt.step === "" && attempt.outcome === "ok" && attempt.purpose === "reply" ? replies[answered++] : undefined;
    const [prompt, reply] = at === undefined ? [null, null] : [messages[at - 1] ?? null, messages[at] ?? null];
    rows(attempt.step).push({ kind: "attempt", key: `m${index}`, start: attempt.start_ms, duration: attempt.duration_ms, attempt, prompt, reply });
  });
  trace.tools.forEach((call, index) => {
    const result = call.step === "" ? (results.get(call.call_id) ?? null) : null;
    rows(call.step).push({ kind: "tool", key: `t${index}`, start: call.start_ms, duration: call.duration_ms, call, arguments: (call.step === "" ? given.get(call.call_id) : undefined) ?? call.arguments, result, children: [] });
  });
  trace.approvals.forEach((approval, index) => {
    const duration = approval.decided_ms === null ? 0 : approval.decided_ms - approval.start_ms;
    rows("").push({ kind: "approval", key: `a${index}`, start: approval.start_ms, duration, approval });
  });
  trace.notes.forEach((note, index) => rows(note.step).push({ kind: "note", key: `n${index}`, start: note.start_ms, duration: 0, note }));
  for (const step of trace.steps) {
    rows("").push({ kind: "step", key: `s-${step.id}`, start: step.start_ms, duration: step.duration_ms, label: step.id, status: step.status, reason: step.reason, children: rows(step.id) });
  }
  for (const agent of trace.agents) {
    const row: TraceRow = { kind: "step", key: `g-${agent.id}`, start: agent.start_ms, duration: agent.duration_ms, label: agent.agent, status: agent.state, reason: agent.reason, children: rows(agent.id) };
    const caller = rows(agent.step).find((each) => each.kind === "tool" && each.call.call_id === agent.call_id);
    (caller?.kind === "tool" ? caller.children : rows(agent.step)).push(row);
  }
  // A step that the trace does not list, because it has too many entries, is shown with the turn's own rows.
  const listed = new Set(["", ...trace.steps.map((each) => each.id), ...trace.agents.map((each) => each.id)]);
  for (const [step, found] of groups) if (!listed.has(step)) rows("").push(...found);
  for (const found of groups.values()) found.sort((one, other) => one.start - other.start);
  return rows("");
}
