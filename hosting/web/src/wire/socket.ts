// Socket.IO connection to one namespace of the host; every request has an acknowledgement or a timeout.
import { io, type Socket } from "socket.io-client";
import { errorFromResponse, ApiError } from "./http-api";
import type { WireEvent } from "./events";
import type { Asked, SocketOperation } from "./operation";
import { storedToken } from "./token-storage";
import { t } from "../text/translate";

const ACK_TIMEOUT_MS = 15_000;

export interface SocketListener {
  onEvent(event: WireEvent): void;
  onConnect(): void;
  /** `error` is given if the host refused the connection. */
  onDisconnect(error?: ApiError): void;
}

export class SocketConnection {
  private readonly socket: Socket;

  /** `namespace` is `/` for the user's own sessions and `/operator` for all sessions. */
  constructor(namespace: "/" | "/operator", listener: SocketListener) {
    this.socket = io(namespace, {
      auth: (provide) => provide(storedToken() ? { token: storedToken() } : {}),
      transports: ["websocket", "polling"],
      reconnectionDelay: 300,
      reconnectionDelayMax: 5_000,
    });
    this.socket.on("connect", () => listener.onConnect());
    this.socket.on("disconnect", () => listener.onDisconnect());
    this.socket.on("connect_error", (error) => {
      const details = (error as Error & { data?: { code?: string; message?: string } }).data;
      listener.onDisconnect(details?.code ? new ApiError(details.code, details.message ?? error.message, {}, true) : undefined);
    });
    this.socket.onAny((event: string, data: unknown) => {
      if (typeof data === "object" && data !== null) listener.onEvent({ event, data } as WireEvent);
    });
  }

  get connected(): boolean {
    return this.socket.connected;
  }

  /** Asks an operation and returns its result; throws `ApiError`, with code `unreachable` on timeout. */
  async call<Request, Result>(operation: SocketOperation<Request, Result>, ...[request]: Asked<Request>): Promise<Result> {
    if (!this.socket.connected) throw new ApiError("unreachable", t("There is no connection to the host."));
    let ack: { ok: boolean } & Record<string, unknown>;
    try {
      ack = await this.socket.timeout(ACK_TIMEOUT_MS).emitWithAck(operation.event, request ?? {});
    } catch {
      throw new ApiError("unreachable", t("The host did not respond."));
    }
    if (!ack.ok) throw errorFromResponse(ack as Parameters<typeof errorFromResponse>[0]);
    return ack as Result;
  }

  close(): void {
    this.socket.close();
  }
}
