// Messages on their way to the host: sent until it says yes or no, under one id, so that it takes each of them once.
import { signal } from "@preact/signals";
import { Refused } from "../wire/api";
import type { Connection } from "../wire/connection";

export interface Unsent {
  id: string;
  session: string;
  text: string;
  /** Empty while it is on its way; else why it did not arrive. */
  problem: string;
  /** The task that it became, until that is seen. */
  task: string;
}

interface Answer {
  task_id: string;
}

export class Outbox {
  readonly items = signal<readonly Unsent[]>([]);

  constructor(private readonly line: () => Connection | null) {}

  /** Sends a text, now or when there is a connection again. */
  add(session: string, text: string): void {
    const item = { id: newId(), session, text, problem: "", task: "" };
    this.items.value = [...this.items.value, item];
    void this.send(item);
  }

  /** After a break, what has no answer yet is sent again. */
  resend(): void {
    for (const item of this.items.value) if (item.problem === "" && item.task === "") void this.send(item);
  }

  /** It is seen in the conversation. */
  arrived(task: string): void {
    if (this.items.value.some((item) => item.task === task)) this.items.value = this.items.value.filter((item) => item.task !== task);
  }

  remove(id: string): void {
    this.items.value = this.items.value.filter((item) => item.id !== id);
  }

  private async send(item: Unsent): Promise<void> {
    const line = this.line();
    if (line === null || !line.connected) return; // `resend` follows
    try {
      const { task_id } = await line.ask<Answer>("send_message", {
        session_id: item.session,
        content: item.text,
        client_message_id: item.id,
      });
      this.change(item.id, { task: task_id });
    } catch (error) {
      if (error instanceof Refused && error.code === "unreachable") return;
      this.change(item.id, { problem: error instanceof Error ? error.message : String(error) });
    }
  }

  private change(id: string, news: Partial<Unsent>): void {
    this.items.value = this.items.value.map((item) => (item.id === id ? { ...item, ...news } : item));
  }
}

/** Random, also where the page came over plain HTTP, which lacks `randomUUID`. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
