// Menu of further actions behind a button with three dots.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { t } from "../text/translate";
import { Icon } from "./icons";

export interface MenuAction {
  label: string;
  run: () => void;
  isDangerous?: boolean;
}

/** `actions` is asked when the menu opens: a long conversation has many of them. */
export function Menu({ label, actions }: { label: string; actions: () => readonly MenuAction[] }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDetailsElement>(null);
  useLayoutEffect(() => placeChoices(menu.current, isOpen), [isOpen]);
  const close = (): void => {
    if (menu.current) menu.current.open = false;
  };
  return (
    <details
      class="menu"
      ref={menu}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !menu.current?.open) return;
        event.stopPropagation(); // Escape also stops the running turn
        close();
        menu.current.querySelector("summary")?.focus();
      }}
      onFocusOut={(event) => {
        if (menu.current && !menu.current.contains(event.relatedTarget as Node | null)) close();
      }}
    >
      <summary aria-label={label} title={t("More")}>
        <Icon name="more" />
      </summary>
      <div class="choices" popover="manual">
        {(isOpen ? actions() : []).map(({ label: text, run, isDangerous }) => (
          <button key={text} type="button" class={isDangerous ? "danger" : undefined} onClick={() => (close(), run())}>
            {text}
          </button>
        ))}
      </div>
    </details>
  );
}

/** Shows an open menu in the top layer, which nothing clips, below its button, or above it where there is no room. */
function placeChoices(menu: HTMLDetailsElement | null, isOpen: boolean): void {
  const choices = menu?.querySelector<HTMLElement>(".choices");
  const button = menu?.querySelector("summary")?.getBoundingClientRect();
  if (!menu || !choices || !button) return;
  choices.togglePopover(isOpen);
  if (!isOpen) return;
  const below = button.bottom + choices.offsetHeight <= innerHeight;
  choices.style.top = `${below ? button.bottom : Math.max(button.top - choices.offsetHeight, 0)}px`;
  choices.style.left = `${Math.max(button.right - choices.offsetWidth, 0)}px`;
}
