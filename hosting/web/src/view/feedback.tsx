// Feedback on a finished answer: two toggle buttons, and a correction for an answer that was not good.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { rateAnswer } from "../model/app-state";
import type { Turn } from "../model/turn-reducer";
import { t } from "../text/translate";
import { IconButton } from "./controls";

const MAX_CORRECTION_CHARACTERS = 4000;

export function Feedback({ turn }: { turn: Turn }): JSX.Element {
  const [isCorrecting, setCorrecting] = useState(false);
  const [correction, setCorrection] = useState("");
  const rate = (value: number): void => {
    const next = turn.rating === value ? 0 : value; // a second press takes it back
    setCorrecting(next < 0);
    void rateAnswer(turn.id, next);
  };
  const send = (event: Event): void => {
    event.preventDefault();
    setCorrecting(false);
    if (correction.trim() !== "") void rateAnswer(turn.id, -1, correction.trim());
  };
  return (
    <>
      <span class="feedback" role="group" aria-label={t("Feedback on this answer")}>
        <IconButton icon="good" label={t("Good answer")} pressed={turn.rating > 0} onClick={() => rate(1)} />
        <IconButton icon="bad" label={t("Bad answer")} pressed={turn.rating < 0} onClick={() => rate(-1)} />
      </span>
      {isCorrecting && (
        <form class="correction" onSubmit={send} onKeyDown={(event) => event.key === "Escape" && setCorrecting(false)}>
          <label>
            {t("What would have been right?")} <span class="hint">{t("(optional)")}</span>
            <input value={correction} maxLength={MAX_CORRECTION_CHARACTERS} onInput={(event) => setCorrection(event.currentTarget.value)} />
          </label>
          <div class="buttons">
            <button type="submit">{t("Send")}</button>
            <button type="button" onClick={() => setCorrecting(false)}>{t("Close")}</button>
          </div>
        </form>
      )}
    </>
  );
}
