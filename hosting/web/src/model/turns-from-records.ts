// Turns from the stored records of a session, for turns older than the retained events; with less detail than events.
import type { RecordView, ToolCallView } from "../wire/types";
import { blockFromResult } from "./guard-verdicts";
import { createTurn, type ToolItem, type Turn } from "./turn-reducer";
import { t } from "../text/translate";

/** Returns the turns of the records in order; the first may be incomplete. */
export function turnsFromRecords(records: readonly RecordView[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const record of records) {
    // Messages sent without a host have no task; there, every user message starts a turn.
    const key = record.task_id || (record.role === "user" ? `seq:${record.seq}` : lastKey(turns) || `seq:${record.seq}`);
    let turn = turns.get(key);
    if (turn === undefined) {
      turn = createTurn(key);
      turn.state = "completed";
      turn.isComplete = true;
      turn.firstRecord = record.seq;
      turn.startedAt = record.at ?? "";
      turns.set(key, turn);
    }
    applyRecord(turn, record);
  }
  return [...turns.values()];
}

function lastKey(turns: Map<string, Turn>): string | undefined {
  return [...turns.keys()].at(-1);
}

function applyRecord(turn: Turn, record: RecordView): void {
  switch (record.kind) {
    case "message":
      return applyMessage(turn, record);
    case "cancelled":
      turn.state = "cancelled";
      turn.answer = shownText(record) || turn.answer;
      return;
    case "failed": {
      const error = record.data ?? {};
      turn.answer = shownText(record) || turn.answer;
      turn.state = "failed";
      turn.error = { code: String(error["code"] ?? "error"), message: String(error["message"] ?? t("The turn failed.")) };
      return;
    }
    case "compaction":
      turn.items.push({
        kind: "note",
        key: `compacted:${record.seq}`,
        severity: "quiet",
        text: t("Older messages were summarised to fit the model's window"),
      });
  }
}

function applyMessage(turn: Turn, record: RecordView): void {
  const content = record.content ?? "";
  if (record.role === "user") [turn.text, turn.attachments] = [content, record.attachments ?? []];
  else if (record.role === "tool") {
    const item = turn.items.find((each): each is ToolItem => each.kind === "tool" && each.key === record.tool_call_id);
    if (item !== undefined) item.result = content;
    if (item !== undefined && record.origin === "denied") {
      const block = blockFromResult(content);
      Object.assign(item, { outcome: "denied", verdicts: block === undefined ? [] : [block] });
    }
  } else if (record.role === "assistant") {
    const reasoning = record.reasoning?.text ?? "";
    if (reasoning) turn.items.push({ kind: "reasoning", key: `reasoning:${record.seq}`, text: reasoning, isOpen: false });
    if (content && record.tool_calls?.length) turn.items.push({ kind: "text", key: `text:${record.seq}`, text: content });
    else if (content) [turn.answer, turn.largeText, turn.answerRecord] = [content, record.large?.["content"] ?? null, record.seq];
    for (const call of record.tool_calls ?? []) turn.items.push(toolItemFromCall(call));
  }
}

/** Returns the part of the last reply that was shown before the turn ended. */
function shownText(record: RecordView): string {
  const shown = record.data?.["shown"];
  return typeof shown === "string" ? shown : "";
}

function toolItemFromCall(call: ToolCallView): ToolItem {
  return {
    kind: "tool",
    key: call.id,
    tool: call.name,
    arguments: call.arguments,
    outcome: "completed",
    durationMs: 0,
    result: "",
    verdicts: [],
    step: "",
  };
}
