// The keys of the whole page, and the window that lists them.
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { newSession, sessions } from "../model/app";
import { go, route } from "../model/route";
import { COMPOSER, stopLast } from "./composer";
import { Dialog } from "./parts";
import { SEARCH } from "./sidebar";

const KEYS: [string, string][] = [
  ["Enter", "send the message"],
  ["Shift + Enter", "begin a new line"],
  ["Esc", "stop the turn that runs"],
  ["/", "write a message"],
  ["Ctrl + K", "search the conversations"],
  ["Alt + N", "begin a new conversation"],
  ["Alt + ↑ and Alt + ↓", "go to the conversation above or below"],
  ["Alt + A", "go to the decision that is open"],
  ["?", "show these keys"],
];

export function useKeys(help: (open: boolean) => void, list: (open: boolean) => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const writing = event.target instanceof Element && event.target.closest("input, textarea, select, dialog") !== null;
      const found = keyOf(event, writing);
      if (found === null) return;
      event.preventDefault();
      if (found === "help") help(true);
      else if (found === "search") {
        list(true);
        requestAnimationFrame(() => document.getElementById(SEARCH)?.focus());
      } else DO[found]();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function Keys({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const DO = {
  write: () => document.getElementById(COMPOSER)?.focus(),
  stop: stopLast,
  new: newSession,
  above: () => step(-1),
  below: () => step(1),
  decide: () => document.querySelector<HTMLElement>(".approval button")?.focus(),
};

function keyOf(event: KeyboardEvent, writing: boolean): keyof typeof DO | "help" | "search" | null {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return "search";
  if (event.altKey) {
    const byCode: Record<string, keyof typeof DO> = { KeyN: "new", ArrowUp: "above", ArrowDown: "below", KeyA: "decide" };
    return byCode[event.code] ?? null;
  }
  if (writing || event.ctrlKey || event.metaKey) return null;
  return event.key === "/" ? "write" : event.key === "?" ? "help" : event.key === "Escape" ? "stop" : null;
}

function step(by: number): void {
  const list = sessions.value ?? [];
  const here = list.findIndex((each) => route.value.page === "session" && each.session_id === route.value.id);
  const next = list[here < 0 ? 0 : here + by];
  if (next !== undefined) go({ page: "session", id: next.session_id });
}
