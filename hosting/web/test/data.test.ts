import assert from "node:assert/strict";
import { test } from "node:test";
import { bars, type Timed } from "../src/model/bars";
import { fieldsOf, readForm, readJson, written } from "../src/model/form";
import { turnsOf } from "../src/model/log";
import type { LogRecord } from "../src/wire/protocol";

const SCHEMA = {
  properties: {
    to: { type: "string" },
    amount: { type: "integer" },
    share: { anyOf: [{ type: "number" }, { type: "null" }] },
    kind: { enum: ["a", "b"] },
    really: { type: "boolean" },
    more: { type: "object" },
  },
  required: ["to", "amount"],
};

test("a schema becomes a form, and what is written in it the arguments again", () => {
  const given = { to: "Ada", amount: 5, share: 0.5, kind: "b", really: true, more: { x: [1] }, unknown: "kept" };
  const fields = fieldsOf(SCHEMA, given);
  assert.deepEqual(fields.map((field) => field.kind), ["text", "number", "number", "choice", "boolean", "json", "text"]);
  const texts = Object.fromEntries(fields.map((field) => [field.name, written(field, given[field.name as keyof typeof given])]));
  assert.deepEqual(readForm(fields, texts, given), given);
});

for (const [texts, said] of [
  [{ to: "Ada", amount: "" }, "amount is needed"],
  [{ to: "Ada", amount: "five" }, "amount: no number"],
  [{ to: "Ada", amount: "1.5" }, "amount: no whole number"],
  [{ to: "Ada", amount: "1", more: "{" }, "more: no JSON"],
] as const) {
  test(`a form says what is wrong: ${said}`, () => {
    assert.equal(readForm(fieldsOf(SCHEMA, {}), texts, {}), said);
  });
}

test("what may be left out and is left empty is left out", () => {
  assert.deepEqual(readForm(fieldsOf(SCHEMA, {}), { to: "Ada", amount: "1" }, {}), { to: "Ada", amount: 1 });
});

test("arguments are an object", () => {
  assert.deepEqual(readJson('{"a": 1}'), { a: 1 });
  for (const text of ["[1]", "1", "null"]) assert.equal(readJson(text), "arguments are an object: {…}");
  assert.match(String(readJson("{")), /^no JSON/u);
});

const record = (seq: number, task_id: string, more: Partial<LogRecord>): LogRecord => ({ seq, kind: "message", task_id, at: "", ...more });

test("a log becomes turns, with their calls and their ends", () => {
  const turns = turnsOf([
    record(1, "a", { role: "user", content: "hello" }),
    record(2, "a", { role: "assistant", content: "", tool_calls: [{ id: "c", name: "look", arguments: { at: 1 } }] }),
    record(3, "a", { role: "tool", content: "seen", tool_call_id: "c" }),
    record(4, "a", { role: "assistant", content: "done" }),
    record(5, "b", { role: "user", content: "again" }),
    record(6, "b", { kind: "failed", data: { code: "timeout", message: "too long" } }),
    record(7, "", { role: "user", content: "without a task" }),
    record(8, "", { role: "assistant", content: "fine" }),
  ]);
  assert.deepEqual(turns.map((turn) => [turn.text, turn.answer, turn.state]), [
    ["hello", "done", "completed"],
    ["again", "", "failed"],
    ["without a task", "fine", "completed"],
  ]);
  assert.deepEqual(turns[0]!.items.map((item) => item.kind === "tool" && [item.tool, item.result]), [["look", "seen"]]);
  assert.equal(turns[1]!.error?.message, "too long");
});

test("a waterfall has a bar for what took time, in the order in which it began", () => {
  const at = (ms: number): string => new Date(ms).toISOString();
  const whose = { session_id: "s", task_id: "t", run_id: "t" };
  const found = bars([
    { event: "task_queued", at: at(1000), data: { ...whose, position: 0, text: "" } },
    { event: "task_started", at: at(1100), data: { ...whose, started_at: "" } },
    { event: "model_attempt", at: at(1600), data: { ...whose, purpose: "reply", model: "p/m", outcome: "ok", duration_ms: 400, usage: { input_tokens: 1, output_tokens: 1, cost_micros: 0, cached_input_tokens: 0 }, detail: "" } },
    { event: "tool_call_started", at: at(1600), data: { ...whose, call_id: "c", tool: "look", arguments_digest: "", arguments: {} } },
    { event: "tool_call_completed", at: at(1900), data: { ...whose, call_id: "c", tool: "look", outcome: "completed", duration_ms: 300, result: "" } },
  ] satisfies Timed[]);
  assert.deepEqual(found.map((bar) => [bar.label, bar.begin, bar.length]), [
    ["in the queue", 0, 100],
    ["p/m, reply", 200, 400],
    ["look", 600, 300],
  ]);
});
