// Schedules page: what runs at set times, to make, pause and remove.
import { definePage } from "../../model/page";
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { routeUrl } from "../../model/router";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { formatTime } from "../../text/format";
import { rich, t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { addSchedule, changeSchedule, listSchedules, removeSchedule } from "../../wire/operations";
import type { ScheduleView } from "../../wire/types";
import { ActionButton } from "../../view/controls";
import { EmptyState, useLoaded } from "../../view/loaded-items";
import { stateLabel } from "../../text/state-labels";

export const schedulesPage = definePage({ name: "schedules", title: () => t("Schedules"), icon: "clock", View: SchedulesPage });

const KINDS = {
  every: () => t("every, such as 15 minutes"),
  cron: () => t("cron, such as 0 8 * * 1-5"),
  in_minutes: () => t("once, in minutes"),
} as const;
type Kind = keyof typeof KINDS;

function SchedulesPage(): JSX.Element {
  const [found, reload] = useLoaded(listSchedules, {});
  return (
    <section class="info-page">
      <h2>{t("Schedules")}</h2>
      <p class="hint">{t("Messages that the host sends to the agent at set times; the answers are in their conversations.")}</p>
      <NewSchedule onMade={reload} />
      {found?.items.length === 0 && <EmptyState title={t("No schedules.")}>{t("Make one above, or say “every day at eight …” in a conversation.")}</EmptyState>}
      <ul class="rows">{found?.items.map((item) => <Entry key={item.schedule_id} item={item} onChange={reload} />)}</ul>
    </section>
  );
}

function NewSchedule({ onMade }: { onMade: () => void }): JSX.Element {
  const [text, setText] = useState("");
  const [kind, setKind] = useState<Kind>("every");
  const [when, setWhen] = useState("");
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    const time = kind === "in_minutes" ? Number(when) : when;
    if (await reportErrors(() => call(addSchedule, { text, [kind]: time }))) {
      setText("");
      setWhen("");
      onMade();
    }
  };
  return (
    <form class="new-row" onSubmit={(event) => void make(event)}>
      <label>
        {t("What to do")}
        <input value={text} maxLength={2000} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <label>
        {t("Kind of time")}
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value as Kind)}>
          {Object.entries(KINDS).map(([value, label]) => (
            <option key={value} value={value}>{label()}</option>
          ))}
        </select>
      </label>
      <label>
        {t("When")}
        <input value={when} maxLength={100} onInput={(event) => setWhen(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={text.trim() === "" || when.trim() === ""}>{t("Add")}</button>
    </form>
  );
}

function Entry({ item, onChange }: { item: ScheduleView; onChange: () => void }): JSX.Element {
  const isPaused = item.state === "paused";
  const change = (ask: () => Promise<unknown>) => async (): Promise<void> => {
    if (await reportErrors(ask)) onChange();
  };
  const named = { schedule_id: item.schedule_id };
  const next = item.next[0];
  const name = toOneLine(item.title, 60);
  return (
    <li>
      <p>
        <a href={routeUrl({ page: "session", id: item.session_id })}>{name}</a>
        {item.text !== item.title && <span class="hint"> {escapeControls(item.text)}</span>}
      </p>
      <div class="row-end">
        <span class="hint">
          {toOneLine(item.runs, 80)} · {item.state === "active" && next !== undefined ? rich("next {time}", { time: <time dateTime={next}>{formatTime(next)}</time> }) : stateLabel(item.state)}
          {item.reason ? `: ${toOneLine(item.reason, 120)}` : ""}
        </span>
        {item.state !== "finished" && (
          <ActionButton label={isPaused ? t("Resume: {name}", { name }) : t("Pause: {name}", { name })} action={change(() => call(changeSchedule, { ...named, state: isPaused ? "active" : "paused" }))}>{isPaused ? t("Resume") : t("Pause")}</ActionButton>
        )}
        <ActionButton label={t("Remove: {name}", { name })} action={change(() => call(removeSchedule, named))}>{t("Remove")}</ActionButton>
      </div>
    </li>
  );
}
