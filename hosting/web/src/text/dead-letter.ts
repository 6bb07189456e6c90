// Dead letter for the host page: where it was going, since when it is dead, and why.
import type { DeadLetter } from "../wire/protocol";
import { toOneLine } from "./escape-controls";
import { formatDateTime } from "./format";
import { t } from "./translate";

/** Returns the destination, and a line with the time and the reason. */
export function describeDeadLetter(letter: DeadLetter): string[] {
  const destination = letter.kind === "message" ? t("to {chat}", { chat: toOneLine(`${letter.channel} ${letter.chat}`, 60) }) : t("task");
  const at = letter.created_at ?? letter.died_at ?? "";
  const time = at === "" ? "" : formatDateTime(at);
  const doubt = letter.may_have_arrived ? [t("may have arrived")] : [];
  const reason = [...doubt, toOneLine(letter.error ?? "", 300)].filter((each) => each !== "").join("; ");
  return [destination, reason === "" ? time : `${time}: ${reason}`];
}
