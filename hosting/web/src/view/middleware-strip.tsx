// Strip of the chain's middlewares: the current one, and how often each has acted in a turn.
import type { JSX } from "preact";
import { chain } from "../model/app-state";
import { middlewareLabel, currentMiddleware } from "../model/middleware-labels";
import type { Turn } from "../model/turn-reducer";

export function MiddlewareStrip({ turn }: { turn: Turn }): JSX.Element | null {
  const middlewares = chain.value?.middlewares;
  if (middlewares === undefined) return null;
  const current = currentMiddleware(turn);
  return (
    <ol class="strip" aria-label="The chain of middlewares">
      {middlewares.map(({ name, zone }, index) => {
        const { label, description } = middlewareLabel(name);
        const count = turn.activeMiddlewares[name] ?? 0;
        const state = name === current ? "now" : count > 0 ? "acted" : turn.state === "queued" ? "ahead" : "passed";
        const startsZone = index > 0 && middlewares[index - 1]?.zone !== zone;
        return (
          <li key={name} class={`${state}${startsZone ? " zone-start" : ""}`} title={`${name}: ${description}`} aria-current={name === current ? "step" : undefined}>
            <span class="dot" aria-hidden="true" />
            <span class="layer">{label}</span>
            {count > 1 && <span class="count" aria-label={`${count} times`}>{count}</span>}
          </li>
        );
      })}
    </ol>
  );
}
