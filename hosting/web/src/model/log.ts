// Turns out of a session's log, for what is older than the events that a host keeps: with less to tell, but complete.
import type { LogRecord, ToolCallInfo } from "../wire/protocol";
import { newTurn, type ToolItem, type Turn } from "./turn";

/** The turns that the records belong to, in order; one may be cut off at the beginning. */
export function turnsOf(records: readonly LogRecord[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const record of records) {
    // What was said without a host has no task; there, a turn begins with every message of the person.
    const key = record.task_id || (record.role === "user" ? `seq:${record.seq}` : lastKey(turns) || `seq:${record.seq}`);
    let turn = turns.get(key);
    if (turn === undefined) {
      turn = newTurn(key);
      turn.state = "completed";
      turn.whole = true;
      turn.firstRecord = record.seq;
      turns.set(key, turn);
    }
    add(turn, record);
  }
  return [...turns.values()];
}

function lastKey(turns: Map<string, Turn>): string | undefined {
  return [...turns.keys()].at(-1);
}

function add(turn: Turn, record: LogRecord): void {
  switch (record.kind) {
    case "message":
      return said(turn, record);
    case "cancelled":
      turn.state = "cancelled";
      return;
    case "failed": {
      const error = record.data ?? {};
      turn.state = "failed";
      turn.error = { code: String(error["code"] ?? "error"), message: String(error["message"] ?? "the turn failed") };
      return;
    }
    case "compaction":
      turn.items.push({
        kind: "note",
        key: `compacted:${record.seq}`,
        tone: "quiet",
        text: "Older messages were summarised to fit the model's window",
      });
  }
}

function said(turn: Turn, record: LogRecord): void {
  const content = record.content ?? "";
  if (record.role === "user") turn.text = content;
  else if (record.role === "tool") {
    const item = turn.items.find((each): each is ToolItem => each.kind === "tool" && each.key === record.tool_call_id);
    if (item !== undefined) item.result = content;
  } else if (record.role === "assistant") {
    if (content) turn.answer = content;
    for (const call of record.tool_calls ?? []) turn.items.push(called(call));
  }
}

function called(call: ToolCallInfo): ToolItem {
  return {
    kind: "tool",
    key: call.id,
    tool: call.name,
    arguments: call.arguments,
    outcome: "completed",
    durationMs: 0,
    result: "",
    step: "",
  };
}
