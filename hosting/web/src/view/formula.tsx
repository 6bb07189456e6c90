// A formula as MathML elements; the typesetter is loaded when the first one is shown.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { t } from "../text/translate";

type Render = typeof import("temml").default.render;

const render = signal<Render | null>(null);
let isLoading = false;

/** Bounds of what a formula may do: macros that it may expand, and the size of a rule in em. */
const LIMITS = { maxExpand: 200, maxSize: [10, 50] as [number, number], trust: false, throwOnError: true };

export function Formula({ tex, isBlock }: { tex: string; isBlock: boolean }): JSX.Element {
  const place = useRef<HTMLElement>(null);
  useEffect(loadTypesetter, []);
  const typeset = render.value;
  useLayoutEffect(() => {
    if (typeset === null || place.current === null) return;
    try {
      typeset(tex, place.current, { ...LIMITS, displayMode: isBlock });
    } catch {
      place.current.textContent = tex; // no formula: it is shown as it was written
    }
  }, [typeset, tex, isBlock]);
  return (
    <span class={isBlock ? "formula block" : "formula"} tabIndex={isBlock ? 0 : undefined} role={isBlock ? "group" : undefined} aria-label={isBlock ? t("formula") : undefined}>
      <code key={typeset === null ? "source" : "formula"} ref={place}>
        {typeset === null ? tex : null}
      </code>
    </span>
  );
}

function loadTypesetter(): void {
  if (isLoading) return;
  isLoading = true;
  import("temml").then(
    (module) => (render.value = module.default.render),
    () => (isLoading = false),
  );
}
