import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEvent, createTurn, fullText, openApprovals, type Turn } from "../src/model/turn-reducer";
import { describeActivity } from "../src/model/middleware-labels";
import { formatUsageCost } from "../src/text/format";
import type { EventName, Payloads, WireEvent } from "../src/wire/events";

const USAGE = { input_tokens: 10, output_tokens: 5, cost_micros: 7, cached_input_tokens: 0, unpriced_tokens: 0 };

function event<Name extends EventName>(name: Name, data: Partial<Payloads[Name]>, run = "t"): WireEvent {
  return { event: name, data: { session_id: "s", task_id: "t", run_id: run, ...data } } as unknown as WireEvent;
}

function after(...events: WireEvent[]): Turn {
  const turn = createTurn("t");
  for (const each of events) applyEvent(turn, each);
  return turn;
}

const chunk = (epoch: number, text: string, offset: number): WireEvent => event("stream_chunk", { epoch, text, offset });

test("chunks of a reply are concatenated", () => {
  assert.equal(after(chunk(1, "one ", 0), chunk(1, "two", 4)).answer, "one two");
});

test("text repeated after a reconnect is shown once", () => {
  assert.equal(after(chunk(1, "one ", 0), chunk(1, "one two", 0), chunk(1, " three", 7)).answer, "one two three");
});

test("characters are counted as the host counts them, an emoji as one", () => {
  assert.equal(after(chunk(1, "👩‍🚀 ", 0), chunk(1, "👩‍🚀 up", 0), chunk(1, "!", 6)).answer, "👩‍🚀 up!");
});

test("a restarted reply replaces the text, and late chunks of the old epoch are dropped", () => {
  const turn = after(chunk(1, "wrong", 0), event("stream_reset", { epoch: 2, reason: "the model was exchanged" }), chunk(1, "!", 5), chunk(2, "right", 0));
  assert.equal(turn.answer, "right");
  assert.deepEqual(turn.items.map((item) => item.kind), ["note"]);
});

test("the last feedback counts, and 0 takes it back", () => {
  const said = (value: number): WireEvent => event("feedback_recorded", { value, source: "page" });
  assert.equal(after(said(1), said(-1)).rating, -1);
  assert.equal(after(said(1), said(0)).rating, 0);
});

test("the final answer replaces the streamed text", () => {
  const end = event("task_completed", { text: "all of it", finish_reason: "stop", usage: USAGE, duration_ms: 12 });
  const turn = after(chunk(1, "all", 0), end, chunk(1, "late", 3));
  assert.deepEqual([turn.answer, turn.state, turn.usage], ["all of it", "completed", USAGE]);
});

test("calls of the same id in different steps are different calls", () => {
  const call = { call_id: "c", tool: "look", arguments_digest: "", arguments: {} };
  const turn = after(
    event("tool_call_started", call, "t/one"),
    event("tool_call_started", call, "t/two"),
    event("tool_call_completed", { call_id: "c", tool: "look", outcome: "failed", duration_ms: 3, result: "no" }, "t/two"),
  );
  assert.deepEqual(
    turn.items.map((item) => (item.kind === "tool" ? [item.step, item.outcome] : [])),
    [["one", "running"], ["two", "failed"]],
  );
  assert.equal(turn.activeMiddlewares["ParallelExecution"], 1);
});

test("a call that was refused before it started is shown", () => {
  const turn = after(event("tool_call_completed", { call_id: "c", tool: "pay", outcome: "denied", duration_ms: 0, result: "no" }));
  assert.deepEqual(turn.items.map((item) => item.kind === "tool" && item.outcome), ["denied"]);
});

const question = {
  approval_id: "a",
  kind: "tool",
  tool: "pay",
  risk: "high",
  arguments: {},
  preview: "Run pay",
  editable: true,
  needs_operator: true,
  expires_at: null,
};

test("an approval is open until it is decided, and duplicates are ignored", () => {
  const asked = event("approval_requested", question);
  const turn = after(event("task_started", { started_at: "" }), asked, asked);
  assert.deepEqual([turn.state, openApprovals(turn).length], ["waiting", 1]);
  applyEvent(turn, event("approval_resolved", { approval_id: "a", decision: "approve", decided_by: "ada", reason: "" }));
  assert.deepEqual([turn.state, openApprovals(turn).length], ["running", 0]);
});

test("an approval says whether it needs an operator, and one of an earlier version does not", () => {
  const { needs_operator: _, ...earlier } = question;
  const turn = after(event("approval_requested", question), event("approval_requested", { ...earlier, approval_id: "b" }));
  assert.deepEqual(openApprovals(turn).map((item) => item.needsOperator), [true, false]);
});

test("a finished turn has no open approvals and no running calls", () => {
  const call = { call_id: "c", tool: "look", arguments_digest: "", arguments: {} };
  const turn = after(
    event("approval_requested", question),
    event("tool_call_started", call),
    event("task_cancelled", { text: "", finish_reason: "cancelled", usage: USAGE, duration_ms: 1 }),
  );
  assert.equal(openApprovals(turn).length, 0);
  assert.ok(turn.items.every((item) => item.kind !== "tool" || item.outcome === "cancelled"));
});

test("failover, compaction, loops, budget and progress become notes in order", () => {
  const attempt = { purpose: "reply", duration_ms: 1, usage: USAGE, detail: "" };
  const turn = after(
    event("budget_alert", { provider: "p", name: "DailyTokens", limit: 10, used: 8, share: 0.8 }),
    event("context_compacted", { how: "summary", messages: 4, tokens_before: 9000, tokens_after: 100 }),
    event("model_attempt", { ...attempt, model: "p/first", outcome: "overloaded" }),
    event("model_attempt", { ...attempt, model: "p/second", outcome: "ok" }),
    event("loop_warning", { level: "warning", pattern: "same", tool: "look", count: 3, detail: "" }),
    event("progress", { iteration: 10, tool_calls: 12, usage: USAGE }),
  );
  assert.deepEqual(
    turn.items.map((item) => (item.kind === "note" ? item.text : "")),
    [
      "80% of a limit is used: DailyTokens, 8 of 10",
      "4 older messages were summarised to fit the model's window (9,000 → 100 tokens)",
      "p/first failed (overloaded)",
      "continued with p/second",
      "look was called 3 times in the same way",
      "10 rounds, 12 tool calls so far",
    ],
  );
  assert.deepEqual(turn.usage, { ...USAGE, input_tokens: 20, output_tokens: 10, cost_micros: 14, unpriced_tokens: 0 });
});

test("a limit that refuses calls and a provider that is excluded are a line each", () => {
  const excluded = event("provider_excluded", { provider: "p", limit: "DailyTokens", reason: "the budget is spent", until: null });
  const turn = after(
    event("budget_alert", { provider: "p", name: "DailyTokens", limit: 10, used: 6, share: 1, refused: true }),
    event("budget_alert", { provider: "q", name: "DailyTokens", limit: 10, used: 10, share: 1 }),
    excluded,
    excluded,
  );
  assert.deepEqual(
    turn.items.map((item) => (item.kind === "note" ? [item.severity, item.text] : [])),
    [
      ["warning", "A limit refuses calls to p: DailyTokens, 6 of 10 used"],
      ["warning", "The limit is reached: DailyTokens, 10 of 10"],
      ["warning", "p is not used: the budget is spent"],
    ],
  );
});

test("tokens of unknown price add up and their cost is not shown as nothing", () => {
  const usage = { ...USAGE, cost_micros: 0, unpriced_tokens: 15 };
  const attempt = event("model_attempt", { purpose: "reply", duration_ms: 1, usage, detail: "", model: "p/m", outcome: "ok" });
  assert.equal(after(attempt, attempt).usage.unpriced_tokens, 30);
  assert.equal(formatUsageCost(usage), "unknown cost");
  assert.equal(formatUsageCost({ ...usage, cost_micros: 2_000_000 }), "$2.00 + unknown cost");
  assert.equal(formatUsageCost(USAGE), "$0.0000");
});

test("the title model call is not part of the turn", () => {
  const turn = after(event("model_attempt", { purpose: "title", model: "p/m", outcome: "ok", duration_ms: 1, usage: USAGE, detail: "" }));
  assert.deepEqual([turn.models, turn.usage.input_tokens], [[], 0]);
});

const text = (id: string, content: string): WireEvent => event("message", { message_id: id, role: "assistant", content });
const started = event("tool_call_started", { call_id: "c", tool: "look", arguments_digest: "", arguments: {} });
const done = event("task_completed", { text: "Let me look.\n\nIt is sunny.", finish_reason: "stop", usage: USAGE, duration_ms: 1 });
const contents = (turn: Turn): unknown[] => [...turn.items.map((item) => ("text" in item ? item.text : item.kind)), turn.answer];

test("text before a tool call keeps its place while the rest is streamed", () => {
  const turn = after(chunk(1, "Let me look.", 0), text("t:0", "Let me look."), started, chunk(1, "\n\nIt is", 12));
  assert.deepEqual(contents(turn), ["Let me look.", "tool", "It is"]);
});

test("replayed and live events of a turn with text before a call give the same texts", () => {
  const live = after(chunk(1, "Let me look.", 0), text("t:0", "Let me look."), started, chunk(1, "\n\nIt is sunny.", 12), text("s:4", "It is sunny."), done);
  const replayed = after(text("t:0", "Let me look."), started, text("s:4", "It is sunny."), done);
  assert.deepEqual(contents(live), ["Let me look.", "tool", "It is sunny."]);
  assert.deepEqual(contents(replayed), contents(live));
  assert.equal(fullText(live), "Let me look.\n\nIt is sunny.");
});

test("a client that joins during the stream gets the text so far, and shows no text twice", () => {
  const reset = event("stream_reset", { epoch: 1, reason: "joined during the stream" });
  const turn = after(text("t:0", "Let me look."), started, reset, chunk(1, "Let me look.\n\nIt", 0), chunk(1, " is", 16));
  assert.deepEqual(contents(turn), ["Let me look.", "tool", "It is"]);
});

test("a client that joins during a stream is told of no restart, at its first join and at its next", () => {
  const reset = event("stream_reset", { epoch: 1, reason: "joined during the stream" });
  assert.deepEqual(after(reset, chunk(1, "It is", 0), reset, chunk(1, "It is sunny", 0)).items, []);
});

test("a new epoch that repeats the text before a call changes nothing of it", () => {
  const reset = event("stream_reset", { epoch: 2, reason: "" });
  const turn = after(chunk(1, "Let me look.", 0), text("t:0", "Let me look."), started, reset, chunk(2, "Let me look.", 0), chunk(2, "\n\nIt", 12));
  assert.deepEqual(contents(turn), ["Let me look.", "tool", "It"]);
});

test("a reply that an interrupted start had made is replaced, or left out if it was not made again", () => {
  assert.deepEqual(contents(after(text("t:0", "First try."), text("t:0", "Let me look."), done)), ["Let me look.", "It is sunny."]);
  const other = event("task_completed", { text: "Something else.", finish_reason: "stop", usage: USAGE, duration_ms: 1 });
  assert.deepEqual(contents(after(text("t:0", "First try."), other)), ["Something else."]);
});

test("a cancelled turn keeps what was written before and after its calls", () => {
  const end = event("task_cancelled", { text: "Let me look.\n\nIt is", finish_reason: "cancelled", usage: USAGE, duration_ms: 1 });
  assert.deepEqual(contents(after(text("t:0", "Let me look."), started, end)), ["Let me look.", "tool", "It is"]);
});

test("reasoning is an item of its own, begins anew at offset 0 and is replaced by the whole", () => {
  const piece = (content: string, offset: number): WireEvent => event("reasoning_chunk", { reasoning_id: "t:0", text: content, offset });
  const turn = after(piece("wrong", 0), piece("one ", 0), piece("plus", 4));
  assert.deepEqual(contents(turn), ["one plus", ""]);
  applyEvent(turn, event("reasoning", { reasoning_id: "t:0", model: "p/m", text: "one plus one" }));
  assert.deepEqual(contents(turn), ["one plus one", ""]);
  applyEvent(turn, piece("one ", 0)); // held back while the page joined the session
  assert.deepEqual(turn.items.map((item) => item.kind === "reasoning" && [item.text, item.isOpen]), [["one plus one", false]]);
  applyEvent(turn, piece("anew", 0));
  assert.deepEqual(contents(turn), ["anew", ""]);
});

test("a piece of reasoning after the end of the turn does not open the reasoning again", () => {
  const turn = after(event("reasoning", { reasoning_id: "t:0", model: "p/m", text: "one plus one" }), event("task_completed", { text: "2", finish_reason: "stop", usage: USAGE, duration_ms: 1 }));
  applyEvent(turn, event("reasoning_chunk", { reasoning_id: "t:0", text: "other", offset: 0 }));
  assert.deepEqual(contents(turn), ["one plus one", "2"]);
});

const verdict = { guard: "Protection", verdict: "block", rule: "protected_read_only", tier: 0, reason: "SOUL.md can only be read" } as const;

test("a call that a guard blocks shows its arguments and the verdict, once after a resume", () => {
  const said = event("guard_verdict", { ...verdict, call_id: "c", tool: "files.write", arguments: { path: "SOUL.md" } });
  const turn = after(said, said, event("tool_call_completed", { call_id: "c", tool: "files.write", outcome: "denied", duration_ms: 0, result: "blocked" }));
  const [item] = turn.items;
  assert.ok(item?.kind === "tool");
  assert.deepEqual([item.outcome, item.arguments, item.verdicts], ["denied", { path: "SOUL.md" }, [verdict]]);
  assert.deepEqual(turn.waitingVerdicts, {});
});

test("a verdict on one call says nothing about a call of another step", () => {
  const turn = after(
    event("guard_verdict", { ...verdict, call_id: "c" }, "t/one"),
    event("tool_call_started", { call_id: "c", tool: "look", arguments_digest: "", arguments: {} }, "t/two"),
  );
  assert.deepEqual(turn.items.map((item) => (item.kind === "tool" ? item.verdicts : [])), [[]]);
});

test("a tool that runs after a decision is what the turn does, although the resumed turn said again that it waits", () => {
  const turn = after(
    event("approval_requested", question),
    event("approval_resolved", { approval_id: "a", decision: "approve", decided_by: "ada", reason: "" }),
    event("agent_status", { status: "waiting_approval", detail: "pay" }),
    event("tool_call_started", { call_id: "c", tool: "pay", arguments_digest: "", arguments: {} }),
  );
  assert.deepEqual([turn.state, describeActivity(turn)], ["running", "running pay"]);
});

test("a decision with edited arguments keeps both", () => {
  const asked = { approval_id: "a", kind: "tool", tool: "pay", risk: "high", arguments: { amount: 5 }, preview: "Run pay", editable: true, expires_at: null };
  const turn = after(event("approval_requested", asked), event("approval_resolved", { approval_id: "a", decision: "edit", decided_by: "ada", reason: "", arguments: { amount: 7 } }));
  const [item] = turn.items;
  assert.ok(item?.kind === "approval");
  assert.deepEqual([item.arguments, item.editedArguments], [{ amount: 5 }, { amount: 7 }]);
});

const CALL = { call_id: "c", tool: "look", arguments_digest: "", arguments: {} };
const RUNNING = event("task_started", { started_at: "" });
const STARTED = event("tool_call_started", CALL);
const ENDED = event("tool_call_completed", { call_id: "c", tool: "look", outcome: "completed", duration_ms: 3, result: "42" });

test("a client that joins after a tool call and missed the status shows what the turn does now", () => {
  assert.equal(describeActivity(after(RUNNING, STARTED)), "running look");
  assert.equal(describeActivity(after(RUNNING, STARTED, ENDED)), "thinking");
  assert.equal(describeActivity(after(RUNNING, STARTED, ENDED, chunk(1, "It is 42", 0))), "writing");
});

test("a model that has written nothing for a minute is what the turn waits for", () => {
  const silent = event("agent_status", { status: "thinking", detail: "own/slow has written nothing for 60 s" });
  assert.equal(describeActivity(after(RUNNING, silent)), "thinking: own/slow has written nothing for 60 s");
  assert.equal(describeActivity(after(RUNNING, silent, chunk(1, "Tea", 0))), "writing");
});

test("while one of two calls runs, a tool is running", () => {
  const other = event("tool_call_started", { ...CALL, call_id: "d", tool: "read" });
  assert.match(describeActivity(after(RUNNING, STARTED, other, ENDED)), /^running /);
});

test("a reply that is written after a retry or a plan is what the turn does now", () => {
  for (const status of ["retrying", "planning"] as const) {
    const turn = after(RUNNING, event("agent_status", { status, detail: "why" }), chunk(1, "Tea", 0));
    assert.equal(describeActivity(turn), "writing");
  }
});

test("the stages of clawft mark their middleware and say what was found", () => {
  const turn = after(
    event("stage_completed", { stage: "classifier", model_call: 1, data: { task_type: "research", complexity: 0.3, confidence: 0.75 } }),
    event("stage_completed", { stage: "transport", model_call: 1, data: {} }),
    event("stage_completed", { stage: "scorer", model_call: 1, data: {} }),
    event("stage_completed", { stage: "scorer", model_call: 2, data: { overall: 0.914 } }),
  );
  assert.deepEqual(Object.keys(turn.activeMiddlewares), ["Classification", "Transport", "Scoring"]);
  assert.deepEqual(turn.items.map((item) => item.kind === "note" && item.text), ["Classified as research, complexity 0.30, confidence 0.75", "Answer scored 0.91"]);
});
