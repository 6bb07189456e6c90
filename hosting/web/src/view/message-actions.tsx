// What can be done with a message and with an answer: edit, answer again, copy up to here, link.
import { useEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { branch, currentUser, foreignOwner, forkSession, notice, providers } from "../model/app-state";
import type { LiveSession } from "../model/live-session";
import { isOffTheRecord } from "../model/off-the-record";
import { routeUrl } from "../model/router";
import { isFinished, type Turn } from "../model/turn-reducer";
import { directionOf } from "../text/direction";
import { t } from "../text/translate";
import { BranchSwitch } from "./branch-switch";
import { copyToClipboard, IconButton } from "./controls";
import { Menu, type MenuAction } from "./menu";

/** Models for which there is an entry in the menu; others are chosen below the message field. */
const MAX_MODELS = 8;

/** Whether the reader may begin a branch before a turn: it has ended, and the session is their own and stored. */
export function canBranch(session: LiveSession, turn: Turn): boolean {
  const isStored = !turn.id.startsWith("seq:") && !isOffTheRecord(session.id);
  return isStored && isFinished(turn) && turn.firstRecord > 0 && foreignOwner(session.id) === null;
}

/** The row below a message of the user. */
export function MessageActions({ session, turn, onEdit }: { session: LiveSession; turn: Turn; onEdit: () => void }): JSX.Element | null {
  if (turn.firstRecord === 0 || isOffTheRecord(session.id)) return null;
  const point = session.branches.at(turn.firstRecord);
  return (
    <div class="message-actions">
      {canBranch(session, turn) && <IconButton icon="pencil" label={t("Edit the message")} onClick={onEdit} />}
      <IconButton icon="link" label={t("Copy a link to the message")} onClick={() => void copyLink(session, turn.firstRecord)} />
      {point !== null && <BranchSwitch point={point} />}
    </div>
  );
}

/** The menu of an answer. */
export function AnswerMenu({ session, turn }: { session: LiveSession; turn: Turn }): JSX.Element | null {
  if (turn.firstRecord === 0 || isOffTheRecord(session.id)) return null;
  return <Menu label={t("More for this answer")} actions={() => answerActions(session, turn)} />;
}

function answerActions(session: LiveSession, turn: Turn): MenuAction[] {
  const link: MenuAction = { label: t("Copy a link to the answer"), run: () => void copyLink(session, turn.answerRecord || turn.firstRecord) };
  if (!canBranch(session, turn)) return [link];
  const models = modelNames().slice(0, MAX_MODELS);
  return [
    { label: t("Answer again"), run: () => void branch(session, turn.id, {}) },
    ...models.map((model) => ({ label: t("Answer again with {model}", { model }), run: () => void branch(session, turn.id, { model }) })),
    { label: t("New conversation from here"), run: () => void forkSession(session.id, turn.id) },
    link,
  ];
}

/** The models that the user may choose; none if there is no choice. */
export function modelNames(): readonly string[] {
  if (!currentUser.value?.features.includes("ChooseModel")) return [];
  const names = providers.value.flatMap(({ provider, models }) => models.map(({ model }) => `${provider}/${model}`));
  return names.length > 1 ? names : [];
}

async function copyLink(session: LiveSession, seq: number): Promise<void> {
  const url = new URL(routeUrl({ page: "session", id: session.id, at: seq }), location.href).href;
  const done = await copyToClipboard(url);
  notice.value = done ? { text: t("The link is copied."), isError: false } : { text: t("The browser did not copy the link."), isError: true };
}

/** A message as it is edited; what is sent begins a new version of the conversation. */
export function MessageEditor({ session, turn, onClose }: { session: LiveSession; turn: Turn; onClose: () => void }): JSX.Element {
  const [text, setText] = useState(turn.text);
  const [isSending, setSending] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    area.current?.focus();
    area.current?.setSelectionRange(text.length, text.length);
  }, []);
  const send = async (): Promise<void> => {
    if (text.trim() === "" || isSending) return;
    setSending(true);
    const done = await branch(session, turn.id, { content: text });
    setSending(false);
    if (done) onClose();
  };
  return (
    <form
      class="message-editor"
      onSubmit={(event) => (event.preventDefault(), void send())}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation(); // Escape also stops the running turn
          onClose();
        } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
      }}
    >
      <textarea
        ref={area}
        rows={Math.min(text.split("\n").length + 1, 14)}
        dir={directionOf(text)}
        value={text}
        aria-label={t("Edit the message")}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <p class="hint">{t("This begins a new version of the conversation; the old one is kept.")}</p>
      <div class="buttons">
        <button type="submit" class="primary" disabled={text.trim() === "" || isSending}>{t("Send")}</button>
        <button type="button" onClick={onClose}>{t("Cancel")}</button>
      </div>
    </form>
  );
}
