// The chain as a strip: which middlewares a turn has gone into, where it is now, and which had something to do.
import type { JSX } from "preact";
import { chain } from "../model/app";
import { layerOf, whereIs } from "../model/layers";
import type { Turn } from "../model/turn";

export function Strip({ turn }: { turn: Turn }): JSX.Element | null {
  const middlewares = chain.value?.middlewares;
  if (middlewares === undefined) return null;
  const now = whereIs(turn);
  return (
    <ol class="strip" aria-label="The chain of middlewares">
      {middlewares.map(({ name, zone }, index) => {
        const { label, does } = layerOf(name);
        const acted = turn.acted[name] ?? 0;
        const state = name === now ? "now" : acted > 0 ? "acted" : turn.state === "queued" ? "ahead" : "passed";
        const begins = index > 0 && middlewares[index - 1]?.zone !== zone;
        return (
          <li key={name} class={`${state}${begins ? " begins" : ""}`} title={`${name}: ${does}`} aria-current={name === now ? "step" : undefined}>
            <span class="dot" aria-hidden="true" />
            <span class="layer">{label}</span>
            {acted > 1 && <span class="count" aria-label={`${acted} times`}>{acted}</span>}
          </li>
        );
      })}
    </ol>
  );
}
