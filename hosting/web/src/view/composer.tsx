// Message composer: Enter sends, Shift+Enter inserts a new line, Escape cancels the running turn.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { currentSession, deleteSession, sendQueue, sendMessage, cancelTask } from "../model/app-state";
import type { LiveSession } from "../model/live-session";
import { loadDraft, saveDraft } from "../model/drafts";
import { isOffTheRecord } from "../model/off-the-record";
import { directionOf } from "../text/direction";
import { Icon } from "./icons";

export const COMPOSER_ID = "composer";

/** Characters that fill the box in any case: measuring more would lay all of them out twice. */
const LONG_CHARACTERS = 8_000;

export function Composer({ session }: { session: LiveSession }): JSX.Element {
  const [text, setText] = useState(() => loadDraft(session.id));
  const textarea = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    setText(loadDraft(session.id));
    textarea.current?.focus({ preventScroll: true });
  }, [session]);
  useEffect(() => resizeToContent(textarea.current), [text]);
  const change = (next: string): void => {
    setText(next);
    saveDraft(session.id, next);
  };
  const send = (): void => {
    if (text.trim() === "") return;
    const sent = text;
    change("");
    sendMessage(sent);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") cancelLastTask();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {isOffTheRecord(session.id) && <OffTheRecordNotice session={session} />}
      <FailedMessages session={session} onEdit={change} />
      <div class="input-row">
        <textarea
          id={COMPOSER_ID}
          ref={textarea}
          rows={1}
          dir={directionOf(text)}
          value={text}
          placeholder="Write a message"
          aria-label="Message"
          aria-describedby="composer-hint"
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
        <button type="submit" class="send primary" aria-label="Send" title="Send (Enter)" disabled={text.trim() === ""}>
          <Icon name="send" />
        </button>
      </div>
      <p class="hint" id="composer-hint">
        Enter sends, Shift+Enter inserts a new line, Esc stops the turn.
      </p>
    </form>
  );
}

/** What "off the record" means, and the button that ends the conversation. */
function OffTheRecordNotice({ session }: { session: LiveSession }): JSX.Element {
  if (session.state.value === "failed") return <p class="hint">This conversation was off the record. It has ended, and nothing of it is left.</p>;
  return (
    <p class="hint off-the-record">
      <strong>Off the record.</strong> Nothing is stored, tools only read. It is gone after an hour without messages, when the host restarts, or{" "}
      <button type="button" class="quiet" onClick={() => void deleteSession(session.id)}>End it now</button>
    </p>
  );
}

/** Messages that the host refused, with buttons to resend, edit or discard them. */
function FailedMessages({ session, onEdit }: { session: LiveSession; onEdit: (text: string) => void }): JSX.Element {
  const failed = sendQueue.items.value.filter((item) => item.session === session.id && item.problem !== "");
  return (
    <>
      {failed.map((item) => (
        <div key={item.id} class="refused" role="alert">
          <p>
            <strong>Not sent:</strong> {item.problem}
          </p>
          <p class="hint">{item.text.slice(0, 160)}</p>
          <div class="buttons">
            <button type="button" onClick={() => (sendQueue.remove(item.id), sendMessage(item.text))}>Send again</button>
            <button type="button" onClick={() => (sendQueue.remove(item.id), onEdit(item.text))}>Edit</button>
            <button type="button" class="quiet" onClick={() => sendQueue.remove(item.id)}>Discard</button>
          </div>
        </div>
      ))}
    </>
  );
}

/** Cancels the newest unfinished turn. */
export function cancelLastTask(): void {
  const last = currentSession.value?.unfinishedTurns().at(-1);
  if (last !== undefined) void cancelTask(last.turn.id);
}

function resizeToContent(area: HTMLTextAreaElement | null): void {
  if (area === null) return;
  const limit = innerHeight * 0.4;
  const isLong = area.value.length > LONG_CHARACTERS;
  if (!isLong) area.style.height = "auto";
  area.style.height = `${isLong ? limit : Math.min(area.scrollHeight, limit)}px`;
}
