// Keyboard shortcuts of the page, and the dialog that lists them.
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { cancelLastTask, startSession, sessions } from "../model/app-state";
import { navigate, route } from "../model/router";
import { listCommands } from "../model/slash-commands";
import { t } from "../text/translate";
import { COMPOSER_ID } from "./composer";
import { Dialog } from "./controls";
import { SEARCH_ID } from "./sidebar";

const SHORTCUTS: [() => string, () => string][] = [
  [() => t("Enter"), () => t("send the message")],
  [() => t("Shift + Enter"), () => t("insert a new line")],
  [() => t("↑ and ↓"), () => t("bring back a message you sent")],
  [() => "Esc", () => t("stop the running turn")],
  [() => "/", () => t("write a message")],
  [() => t("Ctrl + K"), () => t("search the conversations")],
  [() => "Alt + N", () => t("start a new conversation")],
  [() => t("Alt + ↑ and Alt + ↓"), () => t("go to the conversation above or below")],
  [() => "Alt + A", () => t("go to the open approval")],
  [() => "?", () => t("show the keyboard shortcuts")],
];

export function useKeyboardShortcuts(openHelp: (open: boolean) => void, openSidebar: (open: boolean) => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const writing = event.target instanceof Element && event.target.closest("input, textarea, select, dialog") !== null;
      const action = actionForKey(event, writing);
      if (action === null) return;
      event.preventDefault();
      if (action === "help") openHelp(true);
      else if (action === "search") {
        openSidebar(true);
        requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
      } else ACTIONS[action]();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function ShortcutsDialog({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title={t("Keyboard shortcuts")} onClose={onClose}>
      <dl class="keys">
        {SHORTCUTS.map(([key, does]) => (
          <div key={key()}>
            <dt>
              <kbd>{key()}</kbd>
            </dt>
            <dd>{does()}</dd>
          </div>
        ))}
        {listCommands().map(([command, does]) => (
          <div key={command}>
            <dt>
              <kbd>{command}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const ACTIONS = {
  write: () => document.getElementById(COMPOSER_ID)?.focus(),
  stop: cancelLastTask,
  new: startSession,
  above: () => goToNeighbour(-1),
  below: () => goToNeighbour(1),
  decide: () => document.querySelector<HTMLElement>(".approval button")?.focus(),
};

function actionForKey(event: KeyboardEvent, writing: boolean): keyof typeof ACTIONS | "help" | "search" | null {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return "search";
  if (event.altKey) {
    const byCode: Record<string, keyof typeof ACTIONS> = { KeyN: "new", ArrowUp: "above", ArrowDown: "below", KeyA: "decide" };
    return byCode[event.code] ?? null;
  }
  if (writing || event.ctrlKey || event.metaKey) return null;
  return event.key === "/" ? "write" : event.key === "?" ? "help" : event.key === "Escape" ? "stop" : null;
}

function goToNeighbour(by: number): void {
  const list = sessions.value ?? [];
  const here = list.findIndex((each) => route.value.page === "session" && each.session_id === route.value.id);
  const next = list[here < 0 ? 0 : here + by];
  if (next !== undefined) navigate({ page: "session", id: next.session_id });
}
