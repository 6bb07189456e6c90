// Dead letter for the host page: where it was going, since when it is dead, and why.
import type { DeadLetter } from "../../model/operator-actions";
import { toOneLine } from "../../text/escape-controls";
import { formatDateTime } from "../../text/format";
import { t } from "../../text/translate";

/** Returns the destination, and a line with the time and the reason. */
export function describeDeadLetter(letter: DeadLetter): string[] {
  const destination = letter.kind === "message" ? t("to {chat}", { chat: toOneLine(`${letter.channel} ${letter.chat}`, 60) }) : t("task");
  const at = letter.kind === "message" ? (letter.created_at ?? "") : letter.died_at;
  const time = at === "" ? "" : formatDateTime(at);
  const [doubt, error] = letter.kind === "message" ? [letter.may_have_arrived && t("may have arrived"), toOneLine(letter.error, 300)] : ["", ""];
  const reason = [doubt, error].filter(Boolean).join("; ");
  return [destination, reason === "" ? time : `${time}: ${reason}`];
}
