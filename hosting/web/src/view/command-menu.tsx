// Menu of slash commands above the message field; the field keeps the focus and names the selected entry.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { announcement, callableSkills, cancelLastTask, chooseForSession, continueLast, exportSession, forkSession, regenerateLast, shortcutsOpen, startSession } from "../model/app-state";
import type { LiveSession } from "../model/live-session";
import { suggest, type CommandActions, type CommandContext, type Suggestion } from "../model/slash-commands";
import { plural } from "../text/translate";
import { modelNames } from "./message-actions";

const MENU_ID = "commands";

export interface CommandMenu {
  /** Handles a key of the message field; returns whether it was for the menu. */
  onKey: (event: KeyboardEvent) => boolean;
  /** What the message field says about the menu. */
  attributes: { "aria-autocomplete"?: "list"; "aria-controls"?: string; "aria-activedescendant"?: string };
  /** The menu; null while it is closed. */
  element: JSX.Element | null;
}

/** The menu for the text of the message field; `choose` gets what the text becomes, and whether it is to be sent. */
export function useCommandMenu(text: string, choose: (text: string, isComplete: boolean) => void): CommandMenu {
  const [selected, setSelected] = useState(0);
  const [closedFor, setClosedFor] = useState("");
  const found = closedFor === text ? [] : suggest(text, commandContext());
  useEffect(() => {
    setSelected(0);
    if (found.length > 0) announcement.value = plural(found.length, "{count} command", "{count} commands");
  }, [text]);
  const at = Math.min(selected, found.length - 1);
  const take = (suggestion: Suggestion): void => choose(suggestion.text, suggestion.isComplete);
  const onKey = (event: KeyboardEvent): boolean => {
    const current = found[at];
    if (current === undefined || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return false;
    if (event.key === "ArrowDown") setSelected((at + 1) % found.length);
    else if (event.key === "ArrowUp") setSelected((at + found.length - 1) % found.length);
    else if (event.key === "Enter") take(current);
    else if (event.key === "Tab" && current.text !== text) choose(current.text, false);
    else if (event.key === "Escape") setClosedFor(text);
    else return false;
    event.preventDefault();
    event.stopPropagation(); // Escape also stops the running turn
    return true;
  };
  if (found.length === 0) return { onKey, attributes: {}, element: null };
  return {
    onKey,
    attributes: { "aria-autocomplete": "list", "aria-controls": MENU_ID, "aria-activedescendant": optionId(at) },
    element: <Options found={found} selected={at} take={take} />,
  };
}

function Options({ found, selected, take }: { found: readonly Suggestion[]; selected: number; take: (suggestion: Suggestion) => void }): JSX.Element {
  useEffect(() => document.getElementById(optionId(selected))?.scrollIntoView({ block: "nearest" }), [selected]);
  return (
    <ul class="commands" id={MENU_ID} role="listbox" aria-label="/">
      {found.map((suggestion, index) => (
        <li
          key={suggestion.text}
          id={optionId(index)}
          role="option"
          aria-selected={index === selected}
          // The message field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => take(suggestion)}
        >
          <b>{suggestion.text}</b> {suggestion.description}
        </li>
      ))}
    </ul>
  );
}

function optionId(index: number): string {
  return `${MENU_ID}-${index}`;
}

/** What the commands need to know of the page. */
export function commandContext(): CommandContext {
  const models = modelNames();
  return { models, mayChooseModel: models.length > 0, skills: callableSkills.value };
}

/** What the commands do in a session. */
export function commandActions(session: LiveSession): CommandActions {
  return {
    chooseModel: (model) => void chooseForSession(session, { model }),
    choosePlanning: (planning) => void chooseForSession(session, { planning }),
    stop: cancelLastTask,
    startSession,
    fork: () => void forkSession(session.id),
    regenerate: () => void regenerateLast(),
    continueTurn: continueLast,
    export: (format) => void exportSession(session.id, format),
    help: () => (shortcutsOpen.value = true),
  };
}
