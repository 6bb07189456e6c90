// A finished turn over time: what took how long, and what ran at once.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { bars, type Bar, type Timed } from "../model/bars";
import { duration } from "../text/format";
import { onOneLine } from "../text/visible";
import { get } from "../wire/api";

export function Waterfall({ task }: { task: string }): JSX.Element {
  const [found, setFound] = useState<Bar[] | null | "gone">(null);
  useEffect(() => {
    get<{ items: Timed[] }>(`/api/tasks/${encodeURIComponent(task)}/events`)
      .then(({ items }) => setFound(bars(items)))
      .catch(() => setFound("gone"));
  }, [task]);
  if (found === null) return <p class="hint">Reading what happened…</p>;
  if (found === "gone" || found.length === 0) return <p class="hint">The host no longer has the times of this turn.</p>;
  const end = Math.max(1, ...found.map((bar) => bar.begin + bar.length));
  return (
    <table class="waterfall">
      <caption class="off-screen">What took how long, from the beginning of the turn</caption>
      <thead class="off-screen">
        <tr>
          <th>What</th>
          <th>When</th>
          <th>How long</th>
        </tr>
      </thead>
      <tbody>
        {found.map((bar, index) => (
          <tr key={index} class={bar.kind}>
            <th scope="row" title={bar.label}>{onOneLine(bar.label, 40)}</th>
            <td>
              <span class="track" title={`after ${duration(bar.begin)}`}>
                <span class="bar" style={{ left: `${(100 * bar.begin) / end}%`, width: `${Math.max(0.4, (100 * bar.length) / end)}%` }} />
              </span>
            </td>
            <td class="how-long">{duration(bar.length)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
