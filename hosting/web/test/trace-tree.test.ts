// Tree of a trace: nested by plan step and sub-agent, with the stored messages at the calls that they belong to.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildTraceTree, type TraceRow } from "../src/features/traces/trace-tree";
import type { RecordView, TraceDetails } from "../src/wire/types";

const USAGE = { input_tokens: 1, output_tokens: 1, cost_micros: 0 };

function attempt(start: number, more: object = {}): TraceDetails["attempts"][number] {
  return { model: "a/m", purpose: "reply", outcome: "ok", detail: "", start_ms: start, duration_ms: 1, first_token_ms: null, usage: USAGE, step: "", ...more } as TraceDetails["attempts"][number];
}

function call(id: string, start: number, step = ""): TraceDetails["tools"][number] {
  return { call_id: id, tool: "clock", outcome: "completed", arguments: "{}", arguments_digest: "", result_characters: 0, start_ms: start, duration_ms: 1, risk: "low", verdicts: [], step };
}

function trace(more: object): TraceDetails {
  return { attempts: [], tools: [], approvals: [], steps: [], agents: [], notes: [], stages: [], ...more } as unknown as TraceDetails;
}

const MESSAGES = [
  { role: "user", content: "now?" },
  { role: "assistant", content: "", tool_calls: [{ id: "c", name: "clock", arguments: {} }] },
  { role: "tool", content: "noon", tool_call_id: "c" },
  { role: "assistant", content: "It is noon." },
].map((each, seq) => ({ seq, kind: "message", task_id: "t", at: null, ...each }) as RecordView);

test("each reply has its message and the one before it, and each call its result", () => {
  const rows = buildTraceTree(trace({ attempts: [attempt(0, { outcome: "overloaded" }), attempt(1), attempt(5)], tools: [call("c", 3)] }), MESSAGES);
  assert.deepEqual(rows.map((row) => row.key), ["m0", "m1", "t0", "m2"]);
  const [failed, first, tool, last] = rows as [TraceRow, TraceRow, TraceRow, TraceRow];
  assert.ok(failed.kind === "attempt" && failed.reply === null);
  assert.ok(first.kind === "attempt" && first.prompt?.content === "now?" && first.reply?.tool_calls?.length === 1);
  assert.ok(tool.kind === "tool" && tool.result === "noon");
  assert.ok(last.kind === "attempt" && last.prompt?.content === "noon" && last.reply?.content === "It is noon.");
});

test("rows of a step and of a sub-agent are below it, and those of an unknown step are not lost", () => {
  const rows = buildTraceTree(
    trace({
      attempts: [attempt(1, { step: "s1", purpose: "step" }), attempt(4, { step: "s1/a1" })],
      tools: [call("c", 3, "s1"), call("c", 9, "gone")],
      steps: [{ id: "s1", status: "completed", start_ms: 0, duration_ms: 8, reason: "" }],
      agents: [{ id: "s1/a1", agent: "reader", state: "done", start_ms: 3, duration_ms: 2, reason: "", call_id: "c", step: "s1" }],
    }),
    MESSAGES,
  );
  assert.deepEqual(rows.map((row) => row.key), ["s-s1", "t1"]);
  const step = rows[0]!;
  assert.ok(step.kind === "step");
  assert.deepEqual(step.children.map((row) => row.key), ["m0", "t0"]);
  const tool = step.children[1]!;
  assert.ok(tool.kind === "tool" && tool.result === null);
  const agent = tool.children[0]!;
  assert.ok(agent.kind === "step" && agent.label === "reader");
  assert.deepEqual(agent.children.map((row) => row.key), ["m1"]);
});
