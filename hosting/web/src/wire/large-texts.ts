// Large fields of events and messages: the payload has their beginning, and the whole is loaded over HTTP (docs/protocol.md).
import { ApiError, loadJson } from "./http-api";
import type { LargeFieldReference, StreamedText } from "./types";
import { t } from "../text/translate";

export interface HasLargeFields {
  large?: Record<string, LargeFieldReference>;
}

/** Texts up to this size are loaded at once; a larger one on demand. */
const MAX_AUTOMATIC_BYTES = 4_000_000;

/** Whether a field is an answer, of which the page shows the beginning until the rest is asked for; all others are always loaded. */
function isAnswer(name: string, fields: Record<string, unknown>): boolean {
  if (name === "text") return "finish_reason" in fields;
  // A text before tool calls is stored with them, and its message id is not yet that of a record.
  return name === "content" && fields["role"] === "assistant" && !("tool_calls" in fields) && isStored(fields);
}

function isStored({ session_id: session, message_id: message }: Record<string, unknown>): boolean {
  return session === undefined || String(message).startsWith(`${String(session)}:`);
}

export async function loadText(large: LargeFieldReference): Promise<string> {
  const { text } = await loadJson<StreamedText>(large.url);
  if (text === null) throw new ApiError("not_found", t("The reply that was streamed has ended."));
  return text;
}

/**
 * Replaces the large fields of a payload by their whole values, in place. `known` returns a text that the page has
 * already. What stays in `large` was not loaded: too large for that, or it failed.
 */
export async function loadLargeFields(payload: HasLargeFields, known: (large: LargeFieldReference, head: string) => string | null = () => null): Promise<void> {
  const fields = payload as Record<string, unknown>;
  const open = { ...payload.large };
  for (const [name, large] of Object.entries(open)) {
    const whole = large.json ? null : known(large, String(fields[name]));
    if (whole === null && isAnswer(name, fields) && large.bytes > MAX_AUTOMATIC_BYTES) continue;
    try {
      const text = whole ?? (await loadText(large));
      fields[name] = large.json ? JSON.parse(text) : text;
      delete open[name];
    } catch {
      // The beginning is shown, and the rest can be asked for.
    }
  }
  payload.large = open;
}
