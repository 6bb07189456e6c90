// Queue of unsent messages: resends each one until the host accepts or refuses it; the client message id prevents duplicates.
import { signal } from "@preact/signals";
import { ApiError } from "../wire/http-api";
import { sendMessage } from "../wire/operations";
import { isOffTheRecord } from "./off-the-record";
import type { AttachmentDetail } from "../wire/types";
import type { SocketConnection } from "../wire/socket";
import { errorText } from "../text/error-text";

export interface PendingMessage {
  id: string;
  session: string;
  text: string;
  attachments: readonly AttachmentDetail[];
  /** Why the host refused it; empty while it is being sent. */
  problem: string;
  /** The language of the problem, if it is not that of the page. */
  problemLang?: string;
  /** Its task id once accepted, until the task appears in the session. */
  task: string;
}

export class SendQueue {
  readonly items = signal<readonly PendingMessage[]>([]);

  constructor(
    private readonly getSocket: () => SocketConnection | null,
    /** What a session needs before a message is sent to it; null if nothing. */
    private readonly prepare: (session: string) => Promise<void> | null,
  ) {}

  /** Sends a text with its files now, or after reconnecting. */
  add(session: string, text: string, attachments: readonly AttachmentDetail[] = []): void {
    const item = { id: newId(), session, text, attachments, problem: "", task: "" };
    this.items.value = [...this.items.value, item];
    void this.send(item);
  }

  /** Resends all messages without a response; called after reconnecting. */
  resend(): void {
    for (const item of this.items.value) if (item.problem === "" && item.task === "") void this.send(item);
  }

  /** Removes the message whose task has appeared in the session. */
  removeDelivered(task: string): void {
    if (this.items.value.some((item) => item.task === task)) this.items.value = this.items.value.filter((item) => item.task !== task);
  }

  remove(id: string): void {
    this.items.value = this.items.value.filter((item) => item.id !== id);
  }

  private async send(item: PendingMessage): Promise<void> {
    const socket = this.getSocket();
    if (socket === null || !socket.connected) return; // `resend` follows
    try {
      const preparation = this.prepare(item.session);
      // Without one the message is sent at once, before the session is joined: the join then replays its events.
      if (preparation !== null) await preparation;
      const { task_id } = await socket.call(sendMessage, {
        session_id: item.session,
        content: item.text,
        client_message_id: item.id,
        ...(item.attachments.length === 0 ? {} : { attachments: item.attachments.map(({ id }) => id) }),
        ...(isOffTheRecord(item.session) ? { mode: "otr" } : {}),
      });
      this.update(item.id, { task: task_id });
    } catch (error) {
      if (error instanceof ApiError && error.code === "unreachable") return;
      const { text, lang } = errorText(error);
      this.update(item.id, { problem: text, ...(lang === undefined ? {} : { problemLang: lang }) });
    }
  }

  private update(id: string, changes: Partial<PendingMessage>): void {
    this.items.value = this.items.value.map((item) => (item.id === id ? { ...item, ...changes } : item));
  }
}

/** Returns a random id; `randomUUID` is unavailable on pages served over plain HTTP. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
