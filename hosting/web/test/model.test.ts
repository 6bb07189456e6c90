import { createTurn } from "../src/model/turn-reducer";
import { countLastThatFill, estimateHeight, searchedText } from "../src/model/turn-height";
import assert from "node:assert/strict";
import { test } from "node:test";
import { PromptHistory } from "../src/model/prompt-history";
import { buildWaterfallBars, type TimedEvent } from "../src/model/waterfall-bars";
import { buildFields, parseForm, parseJsonArguments, fieldText } from "../src/model/form-fields";
import { stripParts } from "../src/model/middleware-labels";
import { parseTrialArguments } from "../src/features/guards/policy-trial";
import { turnsFromRecords } from "../src/model/turns-from-records";
import type { RecordView } from "../src/wire/types";

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

test("a schema becomes a form, and the form's texts become the arguments again", () => {
  const given = { to: "Ada", amount: 5, share: 0.5, kind: "b", really: true, more: { x: [1] }, unknown: "kept" };
  const fields = buildFields(SCHEMA, given);
  assert.deepEqual(fields.map((field) => field.kind), ["text", "number", "number", "choice", "boolean", "json", "text"]);
  const texts = Object.fromEntries(fields.map((field) => [field.name, fieldText(field, given[field.name as keyof typeof given])]));
  assert.deepEqual(parseForm(fields, texts, given), given);
});

for (const [texts, message] of [
  [{ to: "Ada", amount: "" }, "amount is required"],
  [{ to: "Ada", amount: "five" }, "amount: not a number"],
  [{ to: "Ada", amount: "1.5" }, "amount: not a whole number"],
  [{ to: "Ada", amount: "1", more: "{" }, "more: not valid JSON"],
] as const) {
  test(`an invalid form returns an error: ${message}`, () => {
    assert.equal(parseForm(buildFields(SCHEMA, {}), texts, {}), message);
  });
}

test("optional fields that are empty are omitted", () => {
  assert.deepEqual(parseForm(buildFields(SCHEMA, {}), { to: "Ada", amount: "1" }, {}), { to: "Ada", amount: 1 });
});

test("arguments are an object", () => {
  assert.deepEqual(parseJsonArguments('{"a": 1}'), { a: 1 });
  for (const text of ["[1]", "1", "null"]) assert.equal(parseJsonArguments(text), "The arguments must be an object: {…}");
  assert.match(String(parseJsonArguments("{")), /^Not valid JSON/u);
});

const record = (seq: number, task_id: string, more: Partial<RecordView>): RecordView => ({ seq, kind: "message", task_id, at: "", ...more });

test("records become turns, with their tool calls and outcomes", () => {
  const turns = turnsFromRecords([
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

test("stored text before a tool call, reasoning and an interrupted reply keep their places", () => {
  const calls = [{ id: "c", name: "look", arguments: {} }];
  const [turn] = turnsFromRecords([
    record(1, "a", { role: "user", content: "how is it?" }),
    record(2, "a", { role: "assistant", content: "Let me look.", tool_calls: calls, reasoning: { text: "Hm", model: "p/m" } }),
    record(3, "a", { role: "tool", content: "sunny", tool_call_id: "c" }),
    record(4, "a", { kind: "cancelled", data: { shown: "It is" } }),
  ]);
  assert.deepEqual(turn!.items.map((item) => ("text" in item ? item.text : item.kind)), ["Hm", "Let me look.", "tool"]);
  assert.equal(turn!.answer, "It is");
});

test("a waterfall has a bar for each timed part, in order of its start", () => {
  const at = (ms: number): string => new Date(ms).toISOString();
  const ids = { session_id: "s", task_id: "t", run_id: "t" };
  const found = buildWaterfallBars([
    { event: "task_queued", at: at(1000), data: { ...ids, position: 0, text: "" } },
    { event: "task_started", at: at(1100), data: { ...ids, started_at: "" } },
    { event: "model_attempt", at: at(1600), data: { ...ids, purpose: "reply", model: "p/m", outcome: "ok", duration_ms: 400, usage: { input_tokens: 1, output_tokens: 1, cost_micros: 0, cached_input_tokens: 0, unpriced_tokens: 0 }, detail: "", key: null, first_token_ms: null, span_id: "" } },
    { event: "tool_call_started", at: at(1600), data: { ...ids, call_id: "c", tool: "look", arguments_digest: "", arguments: {} } },
    { event: "tool_call_completed", at: at(1900), data: { ...ids, call_id: "c", tool: "look", outcome: "completed", duration_ms: 300, result: "" } },
  ] satisfies TimedEvent[]);
  assert.deepEqual(found.map((bar) => [bar.label, bar.begin, bar.duration]), [
    ["in the queue", 0, 100],
    ["p/m, reply", 200, 400],
    ["look", 600, 300],
  ]);
});

test("the guards of a chain are one part of the strip", () => {
  const chain = ["Parallel", "Audit", "Protection", "Approval"].map((name) => ({ name, zone: "inner" }));
  assert.deepEqual(stripParts(chain).map((each) => [each.label, each.names.length]), [["Parallel", 1], ["Guards", 2], ["Approval", 1]]);
});

test("a mark of a published stage is no part of the strip", () => {
  const chain = ["PublishedStage", "ToolSplit", "PublishedStage", "StageMark"].map((name) => ({ name, zone: "outer" }));
  assert.deepEqual(stripParts(chain).map((each) => each.label), ["Tools"]);
});

test("the arguments of a trial are a JSON object, or a sentence says what is wrong", () => {
  assert.deepEqual(parseTrialArguments('{"path": "a"}'), { path: "a" });
  assert.deepEqual(parseTrialArguments(" "), {});
  for (const text of ["{bad", "[1]", "null", "1"]) assert.equal(typeof parseTrialArguments(text), "string");
});

test("a call that a guard blocked is blocked also after its events are gone, and nothing that a tool wrote looks so", () => {
  const text = "blocked by Protection (protected_read_only): SOUL.md can only be read";
  const calls = ["a", "b", "c"].map((id) => ({ id, name: "files.write", arguments: {} }));
  const [turn] = turnsFromRecords([
    record(1, "t", { role: "assistant", content: "", tool_calls: calls }),
    record(2, "t", { role: "tool", content: text, tool_call_id: "a", origin: "denied" }),
    record(3, "t", { role: "tool", content: "denied: no", tool_call_id: "b", origin: "denied" }),
    record(4, "t", { role: "tool", content: text, tool_call_id: "c" }),
  ]);
  const seen = turn!.items.map((item) => (item.kind === "tool" ? [item.outcome, item.verdicts.map((each) => [each.guard, each.rule, each.reason])] : []));
  assert.deepEqual(seen, [["denied", [["Protection", "protected_read_only", "SOUL.md can only be read"]]], ["denied", []], ["completed", []]]);
});

test("the arrow keys go through what was sent, and back to what was being written", () => {
  const history = new PromptHistory();
  const sent = ["one", "two"];
  assert.equal(history.newer(sent), null);
  assert.equal(history.older(sent, "draft"), "two");
  assert.equal(history.older(sent, "two"), "one");
  assert.equal(history.older(sent, "one"), null);
  assert.equal(history.newer(sent), "two");
  assert.equal(history.newer(sent), "draft");
  assert.equal(history.newer(sent), null);
  history.older(sent, "draft");
  history.reset();
  assert.equal(history.older(sent, "other"), "two");
});

test("the last turns that fill a space are rendered at first, and one in any case", () => {
  assert.equal(countLastThatFill([100, 100, 300, 200], 400), 2);
  assert.equal(countLastThatFill([100], 400), 1);
  assert.equal(countLastThatFill([100, 900], 0), 1);
  assert.equal(countLastThatFill([], 400), 0);
});

test("a longer turn is estimated to be higher, and its searched text is bounded", () => {
  const turn = { ...createTurn("one"), text: "question", answer: "line\n".repeat(10) };
  assert.ok(estimateHeight({ ...turn, answer: "line" }) < estimateHeight(turn));
  assert.equal(searchedText({ ...turn, answer: "x".repeat(50_000) }).length, 20_000);
});
