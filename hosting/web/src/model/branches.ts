// Branches of a conversation: an answer made again, an edited message, and forks. The host makes a session of each.
import { signal } from "@preact/signals";
import { call } from "../wire/http-api";
import { listBranches } from "../wire/operations";
import type { BranchPointView } from "../wire/types";

/** The last request for a branch: until the host has answered, the same one is repeated under the same id. */
export class BranchRequests {
  private readonly ids = new Map<string, string>();

  constructor(private readonly newId: () => string) {}

  /** Returns the client message id of a request; the same for the same request until `end`. */
  begin(request: string): string {
    const id = this.ids.get(request) ?? this.newId();
    this.ids.set(request, id);
    return id;
  }

  /** The host has accepted or refused the request: the next equal one is another. */
  end(request: string): void {
    this.ids.delete(request);
  }
}

/** Where the branches of one session part; empty until it is loaded, and for a session without branches. */
export class BranchPoints {
  readonly points = signal<readonly BranchPointView[]>([]);

  constructor(private readonly session: string) {}

  async load(): Promise<void> {
    this.points.value = (await call(listBranches, { session_id: this.session })).items;
  }

  /** The branches that go different ways from a message on, given its seq; null if there are none. */
  at(seq: number): BranchPointView | null {
    return this.points.value.find((each) => each.seq === seq) ?? null;
  }
}
