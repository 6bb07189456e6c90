// Goals page: what the host works on by itself, with progress, and the buttons that pause and end it.
import { definePage } from "../../model/page";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { routeUrl } from "../../model/router";
import { toOneLine } from "../../text/escape-controls";
import { formatPercent, formatTime } from "../../text/format";
import { t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { cancelGoal, createGoal, deleteGoal, listGoals, pauseGoal, resumeGoal } from "../../wire/operations";
import type { GoalView } from "../../wire/types";
import { ActionButton, Dialog } from "../../view/controls";
import { EmptyState, useLoaded } from "../../view/loaded-items";
import { stateLabel } from "../../text/state-labels";

export const goalsPage = definePage({ name: "goals", title: () => t("Goals"), icon: "goal", View: GoalsPage });

const REFRESH_MS = 3_000;
const ENDED = new Set(["completed", "failed", "cancelled", "archived"]);

function GoalsPage(): JSX.Element {
  const [found, reload] = useLoaded(listGoals, {});
  const works = found?.items.some((goal) => !ENDED.has(goal.state)) === true;
  useEffect(() => {
    if (!works) return;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [works]);
  return (
    <section class="info-page">
      <h2>{t("Goals")}</h2>
      <p class="hint">{t("Plans that the host works on by itself, within budgets; each reports to its conversation.")}</p>
      {found?.enabled === false && <EmptyState title={t("Goals are off.")}>{t("An operator turns them on: the setting Goals.Enabled, and a restart of the host.")}</EmptyState>}
      {found?.enabled === true && <NewGoal onMade={reload} />}
      {found?.enabled === true && found.items.length === 0 && <EmptyState title={t("No goals.")}>{t("Describe one above; the host plans its steps and asks before it does what is risky.")}</EmptyState>}
      <ul class="rows">{found?.items.map((goal) => <Entry key={goal.goal_id} goal={goal} onChange={reload} />)}</ul>
    </section>
  );
}

function NewGoal({ onMade }: { onMade: () => void }): JSX.Element {
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await reportErrors(() => call(createGoal, { title, description }))) {
      setTitle("");
      setDescription("");
      onMade();
    }
  };
  return (
    <form class="new-row" onSubmit={(event) => void make(event)}>
      <label>
        {t("Goal")}
        <input value={title} maxLength={200} onInput={(event) => setTitle(event.currentTarget.value)} />
      </label>
      <label>
        {t("Description")} <span class="hint">{t("(optional)")}</span>
        <input value={description} maxLength={4000} onInput={(event) => setDescription(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={title.trim() === ""}>{t("Begin")}</button>
    </form>
  );
}

function Entry({ goal, onChange }: { goal: GoalView; onChange: () => void }): JSX.Element {
  const name = toOneLine(goal.title, 80);
  const [isAsking, setAsking] = useState(false);
  const remove = async (): Promise<void> => {
    if (await reportErrors(() => call(deleteGoal, { goal_id: goal.goal_id }))) onChange();
  };
  const isPaused = goal.state === "paused";
  const act = (operation: typeof pauseGoal) => async (): Promise<void> => {
    if (await reportErrors(() => call(operation, { goal_id: goal.goal_id }))) onChange();
  };
  return (
    <li>
      <p>
        <a href={routeUrl({ page: "session", id: goal.session_id })}>{name}</a>
      </p>
      <div class="gauge" role="progressbar" aria-label={t("Progress of {name}", { name })} aria-valuenow={goal.progress} aria-valuemin={0} aria-valuemax={100}>
        <span style={{ width: `${goal.progress}%` }} />
      </div>
      <div class="row-end">
        <span class="hint">
          {stateLabel(goal.state)}, {formatPercent(goal.progress)} · {toOneLine(goal.autonomy, 20)}{goal.updated_at !== null && <> · <time dateTime={goal.updated_at}>{formatTime(goal.updated_at)}</time></>}
          {goal.reason ? ` · ${toOneLine(goal.reason, 160)}` : ""}
        </span>
        {!ENDED.has(goal.state) && (
          <>
            <ActionButton label={isPaused ? t("Resume: {name}", { name }) : t("Pause: {name}", { name })} action={act(isPaused ? resumeGoal : pauseGoal)}>{isPaused ? t("Resume") : t("Pause")}</ActionButton>
            <ActionButton label={t("Cancel: {name}", { name })} action={act(cancelGoal)}>{t("Cancel")}</ActionButton>
          </>
        )}
        <button type="button" class="quiet" aria-label={t("Delete: {name}", { name })} onClick={() => setAsking(true)}>{t("Delete…")}</button>
      </div>
      {isAsking && (
        <Dialog title={t("Delete this goal?")} onClose={() => setAsking(false)}>
          <p>{t("“{title}”, its steps and the conversations that it works in will be deleted. What it has reported to another conversation stays there.", { title: name })}</p>
          <div class="buttons">
            <button type="button" class="danger" onClick={() => (setAsking(false), void remove())}>{t("Delete")}</button>
            <button type="button" onClick={() => setAsking(false)}>{t("Cancel")}</button>
          </div>
        </Dialog>
      )}
    </li>
  );
}
