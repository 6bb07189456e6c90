// Continuation of an answer that ended early: the message that asks for the rest.
import { t } from "../text/translate";
import { fullText, type Turn } from "./turn-reducer";

/** Characters of the end of a stopped answer that are quoted, because the model has not kept them. */
const QUOTED_CHARACTERS = 600;

/** Whether the answer of a turn ended early: at its maximum length, or stopped after some text was shown. */
export function canContinue(turn: Turn): boolean {
  return (turn.state === "completed" && turn.finishReason === "length") || (turn.state === "cancelled" && fullText(turn) !== "");
}

/** Returns the message that asks for the rest of an answer. A stopped one is not part of the history: its end is quoted. */
export function continuationMessage(turn: Turn): string {
  if (turn.state !== "cancelled") return t("Continue your last answer where it ended.");
  const characters = Array.from(fullText(turn));
  const end = (characters.length > QUOTED_CHARACTERS ? "…" : "") + characters.slice(-QUOTED_CHARACTERS).join("");
  return `${t("Continue your answer, which was stopped here:")}\n\n${end.split("\n").map((line) => `> ${line}`).join("\n")}`;
}
