// The line to the host: Socket.IO, with an answer to everything that is asked.
import { io, type Socket } from "socket.io-client";
import { refusal, Refused } from "./api";
import type { WireEvent } from "./protocol";
import { storedToken } from "./token";

const ANSWER_MS = 15_000;

export interface Listener {
  heard(event: WireEvent): void;
  opened(): void;
  /** `why` is told where the host refuses for good. */
  closed(why?: Refused): void;
}

export class Connection {
  private readonly socket: Socket;

  /** `namespace` is `/` for one's own sessions and `/operator` for those of all. */
  constructor(namespace: "/" | "/operator", listener: Listener) {
    this.socket = io(namespace, {
      auth: (give) => give(storedToken() ? { token: storedToken() } : {}),
      transports: ["websocket", "polling"],
      reconnectionDelay: 300,
      reconnectionDelayMax: 5_000,
    });
    this.socket.on("connect", () => listener.opened());
    this.socket.on("disconnect", () => listener.closed());
    this.socket.on("connect_error", (error) => {
      const said = (error as Error & { data?: { code?: string; message?: string } }).data;
      listener.closed(said?.code ? new Refused(said.code, said.message ?? error.message) : undefined);
    });
    this.socket.onAny((event: string, data: unknown) => {
      if (typeof data === "object" && data !== null) listener.heard({ event, data } as WireEvent);
    });
  }

  get connected(): boolean {
    return this.socket.connected;
  }

  /** The answer to an event; raises Refused, with `unreachable` when none comes. */
  async ask<T>(event: string, payload: Record<string, unknown>): Promise<T> {
    if (!this.socket.connected) throw new Refused("unreachable", "there is no connection to the host");
    let answer: { ok: boolean } & Record<string, unknown>;
    try {
      answer = await this.socket.timeout(ANSWER_MS).emitWithAck(event, payload);
    } catch {
      throw new Refused("unreachable", "the host did not answer");
    }
    if (!answer.ok) throw refusal(answer as Parameters<typeof refusal>[0]);
    return answer as T;
  }

  close(): void {
    this.socket.close();
  }
}
