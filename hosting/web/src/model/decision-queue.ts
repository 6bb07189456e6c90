// Queue of decisions about approvals: resends each one until the host accepts or refuses it.
import { signal } from "@preact/signals";
import { ApiError } from "../wire/http-api";
import { submitDecision } from "../wire/operations";
import type { SocketConnection } from "../wire/socket";
import type { ApprovalDecision } from "../wire/types";
import { t } from "../text/translate";

/** The part of a `SocketConnection` that the queue uses. */
export type DecisionSocket = Pick<SocketConnection, "connected" | "call">;

interface PendingDecision {
  payload: ApprovalDecision;
  isBeingSent: boolean;
  /** Whether an attempt ended without a response: the host may have recorded the decision. */
  mayBeRecorded: boolean;
  settle(error: unknown): void;
}

/** Delay before a decision that a host which is still starting has rejected is sent again. */
const RETRY_DELAY_MS = 500;

export class DecisionQueue {
  /** Ids of the approvals whose decision the host has not confirmed. */
  readonly pendingIds = signal<ReadonlySet<string>>(new Set());
  private readonly pending = new Map<string, PendingDecision>();

  constructor(
    private readonly getSocket: () => DecisionSocket | null,
    private readonly getUser: () => string | undefined,
    private readonly retryDelayMs = RETRY_DELAY_MS,
  ) {}

  /** Sends a decision now, or after reconnecting; resolves once it is recorded, and throws what the host refuses it with. */
  add(payload: ApprovalDecision): Promise<void> {
    if (this.pending.has(payload.approval_id)) throw new Error(t("A decision about this is being sent already."));
    return new Promise((resolve, reject) => {
      const settle = (error: unknown): void => {
        this.pending.delete(payload.approval_id);
        this.publish();
        if (error === null) resolve();
        else reject(error as Error);
      };
      this.pending.set(payload.approval_id, { payload, isBeingSent: false, mayBeRecorded: false, settle });
      this.publish();
      this.resend();
    });
  }

  /** Sends all decisions without a response; called after reconnecting. */
  resend(): void {
    for (const item of this.pending.values()) if (!item.isBeingSent) void this.send(item);
  }

  private async send(item: PendingDecision): Promise<void> {
    const socket = this.getSocket();
    if (socket === null || !socket.connected) return; // `resend` follows
    item.isBeingSent = true;
    try {
      await socket.call(submitDecision, item.payload);
      item.settle(null);
    } catch (error) {
      item.isBeingSent = false;
      if (isTemporaryError(error)) {
        item.mayBeRecorded = true;
        setTimeout(() => this.resend(), this.retryDelayMs);
      } else item.settle(this.isOwnDecision(item, error) ? null : error);
    }
  }

  /** Whether the host refuses a decision because an earlier attempt has recorded it. */
  private isOwnDecision(item: PendingDecision, error: unknown): boolean {
    return item.mayBeRecorded && error instanceof ApiError && error.code === "already_decided" && error.extra["decided_by"] === this.getUser();
  }

  private publish(): void {
    this.pendingIds.value = new Set(this.pending.keys());
  }
}

/** Whether a request may succeed when it is sent again: there was no response, or the host is still starting. */
export function isTemporaryError(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "unavailable" || error.code === "unreachable");
}
