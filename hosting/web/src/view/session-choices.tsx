// Choice of the model and of the planning mode of a conversation, below the message field.
import type { JSX } from "preact";
import { chooseForSession, sessionChoices } from "../model/app-state";
import type { LiveSession } from "../model/live-session";
import { PLANNING_MODES } from "../model/slash-commands";
import { t } from "../text/translate";
import { modelNames } from "./message-actions";

const PLANNING_LABELS: Record<(typeof PLANNING_MODES)[number], () => string> = {
  Auto: () => t("Plan long tasks"),
  LlmDecides: () => t("The model decides on plans"),
  Always: () => t("Always plan"),
  Never: () => t("Never plan"),
};

export function SessionChoices({ session }: { session: LiveSession }): JSX.Element {
  const { model, planning } = sessionChoices(session);
  const models = modelNames();
  const known = model === null || models.includes(model) ? models : [model, ...models];
  return (
    <>
      {known.length > 0 && (
        <select
          aria-label={t("Model of this conversation")}
          value={model ?? ""}
          onChange={(event) => void chooseForSession(session, { model: event.currentTarget.value || null })}
        >
          <option value="">{t("Model: chosen by the host")}</option>
          {known.map((name) => (
            <option key={name} value={name}>{name}</option>
          ))}
        </select>
      )}
      <select
        aria-label={t("Plans in this conversation")}
        value={planning ?? ""}
        onChange={(event) => void chooseForSession(session, { planning: event.currentTarget.value || null })}
      >
        <option value="">{t("Plans: as set on the host")}</option>
        {PLANNING_MODES.map((mode) => (
          <option key={mode} value={mode}>{PLANNING_LABELS[mode]()}</option>
        ))}
      </select>
    </>
  );
}
