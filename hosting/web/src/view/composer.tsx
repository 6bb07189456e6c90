// Message composer: Enter sends, Shift+Enter inserts a new line, Escape cancels the running turn.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { cancelLastTask, deleteSession, notice, quotedText, sendMessage, sendQueue } from "../model/app-state";
import type { LiveSession } from "../model/live-session";
import { filesOf, loadDraftFiles, takeFiles } from "../model/attachments";
import { loadDraft, saveDraft } from "../model/drafts";
import { PromptHistory } from "../model/prompt-history";
import { isOffTheRecord } from "../model/off-the-record";
import { runCommand } from "../model/slash-commands";
import { directionOf } from "../text/direction";
import { rich, t } from "../text/translate";
import { commandActions, commandContext, useCommandMenu } from "./command-menu";
import { AttachButton, DraftFiles, attachFiles } from "./draft-files";
import { Icon } from "./icons";
import { SessionChoices } from "./session-choices";

export const COMPOSER_ID = "composer";

/** Characters that fill the box in any case: measuring more would lay all of them out twice. */
const LONG_CHARACTERS = 8_000;

export function Composer({ session }: { session: LiveSession }): JSX.Element {
  const [text, setText] = useState(() => loadDraft(session.id));
  const textarea = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    setText(loadDraft(session.id));
    loadDraftFiles(session.id);
    textarea.current?.focus({ preventScroll: true });
  }, [session]);
  useEffect(() => resizeToContent(textarea.current), [text]);
  /** Where the cursor goes once the text that was brought back is shown, before the next key. */
  const nextCursor = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (nextCursor.current !== null) textarea.current?.setSelectionRange(nextCursor.current, nextCursor.current);
    nextCursor.current = null;
  }, [text]);
  const history = useMemo(() => new PromptHistory(), [session]);
  const show = (next: string): void => {
    setText(next);
    saveDraft(session.id, next);
  };
  const change = (next: string): void => {
    history.reset();
    show(next);
  };
  useEffect(() => {
    const quoted = quotedText.value;
    if (quoted === null) return;
    quotedText.value = null;
    change(text === "" ? quoted : `${text}\n\n${quoted}`);
    textarea.current?.focus();
  }, [quotedText.value]);
  /** Brings back a sent message, if the cursor is at the edge of the text that the arrow points to. */
  const recall = (event: KeyboardEvent): void => {
    const area = textarea.current;
    if (area === null || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
    const isOlder = event.key === "ArrowUp";
    const edge = isOlder ? 0 : text.length;
    if (area.selectionStart !== area.selectionEnd || (area.selectionStart !== edge && text !== "")) return;
    const sent = session.turns.value.map(({ turn }) => turn.text);
    const found = isOlder ? history.older(sent, text) : history.newer(sent);
    if (found === null) return;
    event.preventDefault();
    nextCursor.current = isOlder ? 0 : found.length;
    show(found);
  };
  const files = filesOf(session.id);
  const isUploading = files.some((file) => file.attachment === null && file.problem === "");
  const hasFiles = files.some((file) => file.attachment !== null);
  const canSend = !isUploading && (text.trim() !== "" || hasFiles);
  const send = (sent = text): void => {
    if (isUploading || (sent.trim() === "" && !hasFiles)) return;
    const problem = runCommand(sent, commandActions(session), commandContext());
    if (problem) {
      notice.value = { text: problem, isError: true };
      return; // the text stays, to be corrected
    }
    change("");
    if (problem === null) sendMessage(sent, takeFiles(session.id));
  };
  /** Takes files that are pasted or dropped; a text goes where it belongs. */
  const takeTransfer = (event: Event, transfer: DataTransfer | null): void => {
    if (transfer === null || transfer.files.length === 0) return;
    event.preventDefault();
    attachFiles(session.id, [...transfer.files]);
  };
  const menu = useCommandMenu(text, (next, isComplete) => (isComplete ? send(next) : change(next)));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isComposing(event) && menu.onKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !isComposing(event)) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") cancelLastTask();
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") recall(event);
  };
  return (
    <form
      class="composer"
      onDragOver={(event) => event.dataTransfer?.types.includes("Files") && event.preventDefault()}
      onDrop={(event) => takeTransfer(event, event.dataTransfer)}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {isOffTheRecord(session.id) && <OffTheRecordNotice session={session} />}
      <FailedMessages session={session} onEdit={change} />
      <DraftFiles session={session.id} />
      {menu.element}
      <div class="input-row">
        <textarea
          id={COMPOSER_ID}
          ref={textarea}
          rows={1}
          dir={directionOf(text)}
          value={text}
          placeholder={t("Write a message")}
          aria-label={t("Message")}
          aria-describedby="composer-hint"
          {...menu.attributes}
          onInput={(event) => change(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => takeTransfer(event, event.clipboardData)}
        />
        <AttachButton session={session.id} />
        <button type="submit" class="send primary" aria-label={t("Send")} title={t("Send (Enter)")} disabled={!canSend}>
          <Icon name="send" />
        </button>
      </div>
      <div class="below">
        <SessionChoices session={session} />
        <p class="hint" id="composer-hint">
          {t("Enter sends, Shift+Enter inserts a new line, Esc stops the turn, / lists commands.")}
        </p>
      </div>
    </form>
  );
}

/** What "off the record" means, and the button that ends the conversation. */
function OffTheRecordNotice({ session }: { session: LiveSession }): JSX.Element {
  if (session.state.value === "failed") return <p class="hint">{t("This conversation was off the record. It has ended, and nothing of it is left.")}</p>;
  return (
    <p class="hint off-the-record">
      {rich("{state} Nothing is stored, tools only read. It is gone after an hour without messages, when the host restarts, or {end}", { state: <strong>{t("Off the record.")}</strong>, end: <button type="button" class="quiet" onClick={() => void deleteSession(session.id)}>{t("End it now")}</button> })}
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
            <strong>{t("Not sent:")}</strong> <span lang={item.problemLang}>{item.problem}</span>
          </p>
          <p class="hint">{item.text.slice(0, 160)}</p>
          <div class="buttons">
            <button type="button" onClick={() => (sendQueue.remove(item.id), sendMessage(item.text, item.attachments))}>{t("Send again")}</button>
            <button type="button" onClick={() => (sendQueue.remove(item.id), onEdit(item.text))}>{t("Edit")}</button>
            <button type="button" class="quiet" onClick={() => sendQueue.remove(item.id)}>{t("Discard")}</button>
          </div>
        </div>
      ))}
    </>
  );
}

/** Whether an input method takes the key: some say so by the key code 229 only, after the composition has ended. */
function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

function resizeToContent(area: HTMLTextAreaElement | null): void {
  if (area === null) return;
  const limit = innerHeight * 0.4;
  const isLong = area.value.length > LONG_CHARACTERS;
  // While the height of the text is read, the box keeps its place: else the messages above would be scrolled down.
  const box = area.parentElement!;
  box.style.minHeight = `${box.offsetHeight}px`;
  if (!isLong) area.style.height = "auto";
  area.style.height = `${isLong ? limit : Math.min(area.scrollHeight, limit)}px`;
  box.style.minHeight = "";
}
