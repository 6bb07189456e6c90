// Switch between the versions of a conversation, at the message where they part.
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { navigate } from "../model/router";
import { t } from "../text/translate";
import type { BranchPointView } from "../wire/types";
import { IconButton } from "./controls";

type Direction = "previous" | "next";

/** The button that was pressed last: in the other version, that one gets the focus. */
let pressed: Direction | null = null;

export function BranchSwitch({ point }: { point: BranchPointView }): JSX.Element {
  const group = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (pressed === null) return;
    const button = group.current?.querySelector<HTMLButtonElement>(`.${pressed}:enabled`) ?? group.current?.querySelector<HTMLButtonElement>("button:enabled");
    pressed = null;
    button?.focus({ preventScroll: true });
  }, []);
  const go = (direction: Direction): void => {
    const id = point.options[point.index + (direction === "next" ? 1 : -1)];
    if (id === undefined) return;
    pressed = direction;
    navigate({ page: "session", id, at: point.seq });
  };
  const [version, total] = [point.index + 1, point.options.length];
  return (
    <span class="branch-switch" role="group" aria-label={t("Versions of this message")} ref={group}>
      <IconButton icon="back" class="previous" label={t("Previous version")} disabled={version === 1} onClick={() => go("previous")} />
      <span>
        <span class="off-screen">{t("Version {version} of {total}", { version, total })}</span>
        <span aria-hidden="true">
          {version} / {total}
        </span>
      </span>
      <IconButton icon="chevron" class="next" label={t("Next version")} disabled={version === total} onClick={() => go("next")} />
    </span>
  );
}
