// Where a person writes: Enter sends, Shift and Enter begin a new line, Escape stops.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { current, outbox, say, stop } from "../model/app";
import type { Conversation } from "../model/conversation";
import { draftOf, keepDraft } from "../model/drafts";
import { Icon } from "./icons";

export const COMPOSER = "composer";

export function Composer({ conversation }: { conversation: Conversation }): JSX.Element {
  const [text, setText] = useState(() => draftOf(conversation.id));
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    setText(draftOf(conversation.id));
    area.current?.focus({ preventScroll: true });
  }, [conversation]);
  useEffect(() => fit(area.current), [text]);
  const change = (next: string): void => {
    setText(next);
    keepDraft(conversation.id, next);
  };
  const send = (): void => {
    if (text.trim() === "") return;
    const sent = text;
    change("");
    say(sent);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") stopLast();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Unsent conversation={conversation} onEdit={change} />
      <div class="writing">
        <textarea
          id={COMPOSER}
          ref={area}
          rows={1}
          dir="auto"
          value={text}
          placeholder="Write a message"
          aria-label="Message"
          aria-describedby="composer-hint"
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={pressed}
        />
        <button type="submit" class="send primary" aria-label="Send" title="Send (Enter)" disabled={text.trim() === ""}>
          <Icon name="send" />
        </button>
      </div>
      <p class="hint" id="composer-hint">
        Enter sends, Shift+Enter makes a new line, Esc stops the turn.
      </p>
    </form>
  );
}

/** What the host refused: to be sent again or changed. */
function Unsent({ conversation, onEdit }: { conversation: Conversation; onEdit: (text: string) => void }): JSX.Element {
  const failed = outbox.items.value.filter((item) => item.session === conversation.id && item.problem !== "");
  return (
    <>
      {failed.map((item) => (
        <div key={item.id} class="refused" role="alert">
          <p>
            <strong>Not sent:</strong> {item.problem}
          </p>
          <p class="hint">{item.text.slice(0, 160)}</p>
          <div class="buttons">
            <button type="button" onClick={() => (outbox.remove(item.id), say(item.text))}>Send again</button>
            <button type="button" onClick={() => (outbox.remove(item.id), onEdit(item.text))}>Edit</button>
            <button type="button" class="quiet" onClick={() => outbox.remove(item.id)}>Discard</button>
          </div>
        </div>
      ))}
    </>
  );
}

/** Stop the newest turn that is not over. */
export function stopLast(): void {
  const last = current.value?.unfinished().at(-1);
  if (last !== undefined) void stop(last.turn.id);
}

function fit(area: HTMLTextAreaElement | null): void {
  if (area === null) return;
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, innerHeight * 0.4)}px`;
}
