// Strip of the chain's middlewares: the current one, and how often each has acted in a turn.
import type { JSX } from "preact";
import { chain } from "../model/app-state";
import { currentMiddleware, stripParts } from "../model/middleware-labels";
import type { Turn } from "../model/turn-reducer";
import { plural, t } from "../text/translate";

export function MiddlewareStrip({ turn }: { turn: Turn }): JSX.Element | null {
  const middlewares = chain.value?.middlewares;
  if (middlewares === undefined) return null;
  const current = currentMiddleware(turn);
  return (
    <ol class="strip" aria-label={t("The chain of middlewares")}>
      {stripParts(middlewares).map(({ names, zone, label, description }, index, parts) => {
        const name = names.join(", ");
        const count = names.reduce((sum, each) => sum + (turn.activeMiddlewares[each] ?? 0), 0);
        const state = name === current ? "now" : count > 0 ? "acted" : turn.state === "queued" ? "ahead" : "passed";
        const startsZone = index > 0 && parts[index - 1]?.zone !== zone;
        return (
          <li key={name} class={`${state}${startsZone ? " zone-start" : ""}`} title={`${name}: ${description}`} aria-current={name === current ? "step" : undefined}>
            <span class="dot" aria-hidden="true" />
            <span class="layer">{label}</span>
            {count > 1 && <span class="count" aria-label={plural(count, "once", "{count} times")}>{count}</span>}
          </li>
        );
      })}
    </ol>
  );
}
