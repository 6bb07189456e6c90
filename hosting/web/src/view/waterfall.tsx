// Waterfall chart of a finished turn.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { buildWaterfallBars, type WaterfallBar, type TimedEvent } from "../model/waterfall-bars";
import { formatDuration } from "../text/format";
import { toOneLine } from "../text/escape-controls";
import { t } from "../text/translate";
import { call } from "../wire/http-api";
import { listTaskEvents } from "../wire/operations";

export function Waterfall({ task }: { task: string }): JSX.Element {
  const [bars, setBars] = useState<WaterfallBar[] | null | "unavailable">(null);
  useEffect(() => {
    call(listTaskEvents, { task_id: task })
      .then(({ items }) => setBars(buildWaterfallBars(items as unknown as TimedEvent[])))
      .catch(() => setBars("unavailable"));
  }, [task]);
  if (bars === null) return <p class="hint">{t("Loading…")}</p>;
  if (bars === "unavailable" || bars.length === 0) return <p class="hint">{t("The host no longer has the events of this turn.")}</p>;
  const end = Math.max(1, ...bars.map((bar) => bar.begin + bar.duration));
  return (
    <table class="waterfall">
      <caption class="off-screen">{t("Duration of each part, from the start of the turn")}</caption>
      <thead class="off-screen">
        <tr>
          <th>{t("Part")}</th>
          <th>{t("Start")}</th>
          <th>{t("Duration")}</th>
        </tr>
      </thead>
      <tbody>
        {bars.map((bar, index) => (
          <tr key={index} class={bar.kind}>
            <th scope="row" title={bar.label}>{toOneLine(bar.label, 40)}</th>
            <td>
              <span class="track" title={t("after {begin}", { begin: formatDuration(bar.begin) })}>
                <span class="bar" style={{ left: `${(100 * bar.begin) / end}%`, width: `${Math.max(0.4, (100 * bar.duration) / end)}%` }} />
              </span>
            </td>
            <td class="bar-duration">{formatDuration(bar.duration)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
