// Dead letter for the host page: where it was going, since when it is dead, and why.
import type { DeadLetter } from "../wire/protocol";
import { toOneLine } from "./escape-controls";

/** Returns the destination, and a line with the time and the reason. */
export function describeDeadLetter(letter: DeadLetter): string[] {
  const destination = letter.kind === "message" ? `to ${toOneLine(`${letter.channel} ${letter.chat}`, 60)}` : "task";
  const time = (letter.created_at ?? letter.died_at ?? "").slice(0, 19).replace("T", " ");
  const doubt = letter.may_have_arrived ? ["may have arrived"] : [];
  const reason = [...doubt, toOneLine(letter.error ?? "", 300)].filter((each) => each !== "").join("; ");
  return [destination, reason === "" ? `${time} UTC` : `${time} UTC: ${reason}`];
}
