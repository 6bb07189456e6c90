// A session open on the page: its turns, updated by events; older turns are loaded on scrolling up.
import { signal, type Signal } from "@preact/signals";
import { ApiError, call } from "../wire/http-api";
import { loadLargeFields } from "../wire/large-texts";
import { changeSession, getSession, joinSession, listMessages } from "../wire/operations";
import type { SocketConnection } from "../wire/socket";
import type { WireEvent } from "../wire/events";
import type { JoinedSession, RecordPage, SessionView } from "../wire/types";
import { BranchPoints } from "./branches";
import { turnsFromRecords } from "./turns-from-records";
import { applyEvent, isFinished, createTurn, streamedWhole, type Turn } from "./turn-reducer";
import { t } from "../text/translate";

/** Records per request. */
const PAGE_SIZE = 200;

/** A seq above that of any record. */
const AFTER_ALL_RECORDS = 2 ** 50;

/** Milliseconds after which what was requested while the socket connects is too old to be shown. */
const MAX_PREFETCH_AGE_MS = 5_000;

/** Least time between two renders of streamed text: nobody reads more, and each lays the turn out again. */
const RENDER_INTERVAL_MS = 45;

/** A turn, and a counter that increments with every change, so that only this turn is rendered again. */
export interface LiveTurn {
  turn: Turn;
  version: Signal<number>;
  /** Height in pixels when it was last laid out, or an estimate; 0 if it never was. */
  height: number;
}

function liveTurn(turn: Turn): LiveTurn {
  return { turn, version: signal(0), height: 0 };
}

/** What is chosen for all messages of a session; null leaves it to the host. */
export interface SessionChoices {
  model: string | null;
  planning: string | null;
}

export class LiveSession {
  readonly turns = signal<readonly LiveTurn[]>([]);
  readonly state = signal<"new" | "loading" | "open" | "failed">("new");
  /** Whether the host has turns older than the first one loaded. */
  readonly hasOlder = signal(false);
  /** The stored facts of the session; null until it is loaded, and of a new one. */
  readonly summary = signal<SessionView | null>(null);
  readonly branches: BranchPoints;
  /** What was chosen for a session that the host does not have yet. */
  readonly newChoices = signal<SessionChoices | null>(null);
  /** Whether this page created the session. Any other unknown id is an invalid URL, and must not create a session. */
  isNew = false;
  private readonly turnsByTask = new Map<string, LiveTurn>();
  private readonly changedTurns = new Set<LiveTurn>();
  /** The socket on which the session was joined. */
  private socket: SocketConnection | null = null;
  private lastSeq = 0;
  private animationFrame = 0;
  private renderedAt = -Infinity;
  private joinPromise: Promise<void> | null = null;
  /** What the first join needs besides the socket, requested before it is connected. */
  private prefetched: { at: number; summary: Promise<SessionView>; records: Promise<RecordPage> } | null = null;
  /** A page of older turns that is being loaded. */
  private older: Promise<void> | null = null;
  /** An event whose large fields are being loaded. */
  private loading: Promise<void> | null = null;
  /** Turns of the first join, which are shown at once when all of them are there; null after it. */
  private replayed: LiveTurn[] | null = null;
  /** Whether events happen now, and not before the session was opened. */
  private isNews = true;
  /** Events received during a join, or while a large text is loaded. */
  private heldEvents: WireEvent[] = [];

  constructor(
    readonly id: string,
    /** Sockets to try for joining: chat first, then operator. */
    private readonly getSockets: () => SocketConnection[],
    private readonly handlers: {
      onEvent: (event: WireEvent) => void;
      /** The turns that a session had before it was opened are there; what happened in them is no news. */
      onOpen: (session: LiveSession) => void;
    },
  ) {
    this.branches = new BranchPoints(id);
  }

  /** Joins the session: loads all retained events the first time, and the missed ones after a disconnect. */
  join(): Promise<void> {
    this.joinPromise ??= this.replay().finally(() => this.releaseHeldEvents());
    return this.joinPromise;
  }

  /** Requests the facts and the newest records, while the socket connects; what fails is requested again by the join. */
  prefetch(): void {
    if (this.prefetched !== null || this.isNew || this.state.value !== "new") return;
    const summary = call(getSession, { session_id: this.id });
    const records = this.loadRecords(AFTER_ALL_RECORDS);
    for (const request of [summary, records]) request.catch(() => undefined);
    this.prefetched = { at: performance.now(), summary, records };
  }

  /** Forgets what was requested without success: the host was not there, or did not know the user. */
  forgetPrefetched(): void {
    this.prefetched = null;
  }

  receive(event: WireEvent, from: SocketConnection): void {
    if (this.socket === null && this.joinPromise === null) return; // the join will replay it
    if (this.socket !== null && from !== this.socket) return;
    this.processEvent(event);
  }

  private processEvent(event: WireEvent): void {
    if (this.joinPromise !== null || this.loading !== null) return void this.heldEvents.push(event);
    const seq = event.data.seq;
    if (seq !== undefined) {
      if (seq <= this.lastSeq) return; // duplicate
      if (seq > this.lastSeq + 1 && this.state.value === "open") return void this.join(); // gap in the sequence
      this.lastSeq = seq;
    }
    if (event.data.large === undefined) return this.applyEvent(event);
    this.loading = this.loadAndApply(event).finally(() => {
      this.loading = null;
      if (this.joinPromise === null) this.releaseHeldEvents();
    });
  }

  /** Loads the large fields of an event, unless the page has them from the stream, and applies it. */
  private async loadAndApply(event: WireEvent): Promise<void> {
    const turn = this.turnsByTask.get(event.data.task_id)?.turn;
    await loadLargeFields(event.data, (large, head) => (turn === undefined ? null : streamedWhole(turn, large, head)));
    // A chunk without its text would leave a gap; the end of the turn has the whole.
    if (event.event === "stream_chunk" && event.data.large?.["text"] !== undefined) return;
    this.applyEvent(event);
  }

  /** Turns that are queued, running or waiting for approval. */
  /** The connection was lost: what running turns do now is not known until their next events arrive. */
  noteDisconnect(): void {
    for (const live of this.unfinishedTurns()) {
      if (live.turn.state !== "running") continue;
      live.turn.status = "unknown";
      live.version.value++;
    }
  }

  unfinishedTurns(): LiveTurn[] {
    return this.turns.value.filter(({ turn }) => !isFinished(turn));
  }

  /** Loads the turns before the first one; calls at the same time share one request. */
  loadOlder(newest?: RecordPage): Promise<void> {
    this.older ??= this.loadPageBefore(newest).finally(() => (this.older = null));
    return this.older;
  }

  private async loadPageBefore(newest?: RecordPage): Promise<void> {
    const first = this.turns.value.find(({ turn }) => turn.firstRecord > 0)?.turn.firstRecord;
    const before = first ?? AFTER_ALL_RECORDS;
    const older = newest?.items.filter(({ seq }) => seq < before) ?? [];
    const page = newest !== undefined && (older.length > 0 || !newest.more) ? { items: older, more: newest.more } : await this.loadRecords(before);
    // A page also ends with its size: with a large answer it may begin in the middle of its only turn.
    while (page.more && turnsFromRecords(page.items).length < 2) {
      const older = await this.loadRecords(page.items[0]!.seq);
      page.items.unshift(...older.items);
      page.more = older.more;
    }
    for (const record of page.items) await loadLargeFields(record);
    const loaded = turnsFromRecords(page.items);
    // The first turn may be incomplete; the next page has it whole, unless it is the only turn of this page.
    if (page.more && loaded.length > 1) loaded.shift();
    const added = loaded.filter((turn) => !this.turnsByTask.has(turn.id)).map(liveTurn);
    for (const live of added) this.turnsByTask.set(live.turn.id, live);
    this.turns.value = [...added, ...this.turns.value];
    this.hasOlder.value = page.more;
  }

  /** Loads older turns until the one with a message is there; returns it, or undefined if there is none. */
  async findTurn(seq: number): Promise<LiveTurn | undefined> {
    await this.joinPromise;
    while (this.hasOlder.value && !this.turns.value.some(({ turn }) => turn.firstRecord > 0 && turn.firstRecord <= seq)) await this.loadOlder();
    return this.turns.value.findLast(({ turn }) => turn.firstRecord > 0 && turn.firstRecord <= seq);
  }

  /** Loads the facts of the session, and its branches if it has some. */
  async loadSummary(summary: Promise<SessionView> = call(getSession, { session_id: this.id })): Promise<void> {
    this.summary.value = await summary;
    if (this.summary.value.conversation !== null) await this.branches.load();
  }

  /** Changes the stored facts of the session. */
  async patch(change: Partial<SessionChoices>): Promise<void> {
    this.summary.value = await call(changeSession, { session_id: this.id, ...change });
  }

  private loadRecords(before: number): Promise<RecordPage> {
    return call(listMessages, { session_id: this.id, before, limit: PAGE_SIZE, cut: true });
  }

  private async replay(): Promise<void> {
    if (this.loading !== null) await this.loading; // the replay continues after that event
    const first = this.state.value !== "open";
    const prefetched = first ? this.takePrefetched() : null;
    if (first) this.state.value = "loading";
    try {
      // Joining an unknown session would create it: the facts come first.
      if (first && !this.isNew) await this.loadSummary(prefetched?.summary);
      else if (!this.isNew) void this.loadSummary().catch(() => undefined);
      const joined = await this.requestJoin();
      if (joined.partial && !first) this.clearTurns();
      const isWhole = first || joined.partial === true;
      this.isNews = !first || this.isNew;
      if (isWhole && !this.isNew) this.replayed = []; // what is news in a new session is told with its title, its first turn
      for (const event of joined.events as unknown as WireEvent[]) {
        const { seq } = event.data;
        if (seq !== undefined && seq <= this.lastSeq) continue; // already received: sending a message subscribes to its session
        this.lastSeq = seq ?? this.lastSeq;
        if (event.data.large === undefined) this.applyEvent(event);
        else await this.loadAndApply(event);
      }
      this.isNews = true;
      this.lastSeq = Math.max(this.lastSeq, joined.seq);
      if (isWhole) {
        this.showReplayed();
        await this.loadOlder(await this.usablePage(prefetched?.records));
      }
      this.state.value = "open";
      if (first) this.handlers.onOpen(this);
    } catch (error) {
      this.isNews = true;
      if (this.replayed !== null) this.showReplayed();
      if (first) this.state.value = "failed";
      throw error;
    }
  }

  /** What was requested while the socket connected, or is requested now because that took too long or did not succeed. */
  private takePrefetched(): LiveSession["prefetched"] {
    if (this.prefetched !== null && performance.now() - this.prefetched.at > MAX_PREFETCH_AGE_MS) this.prefetched = null;
    this.prefetch();
    const taken = this.prefetched;
    this.prefetched = null;
    return taken;
  }

  /** The page that was requested before the join, unless turns may be missing between it and the replayed ones. */
  private async usablePage(records: Promise<RecordPage> | undefined): Promise<RecordPage | undefined> {
    const page = await records?.catch(() => undefined);
    const newest = page?.items.at(-1);
    if (newest === undefined) return undefined;
    // No gap is possible if the replay has the turn that was the newest then; it also has the end of that turn.
    return this.turnsByTask.has(newest.task_id) ? page : undefined;
  }

  private async requestJoin(): Promise<JoinedSession> {
    const sockets = this.getSockets();
    for (const socket of sockets) {
      try {
        const joined = await socket.call(joinSession, { session_id: this.id, last_seq: this.lastSeq });
        this.socket = socket;
        return joined;
      } catch (error) {
        const hasNext = socket !== sockets.at(-1);
        if (!(hasNext && error instanceof ApiError && error.code === "forbidden")) throw error;
      }
    }
    throw new ApiError("unreachable", t("There is no connection to the host."));
  }

  private releaseHeldEvents(): void {
    this.joinPromise = null;
    if (this.loading !== null) return;
    const held = this.heldEvents;
    this.heldEvents = [];
    for (const event of held) this.processEvent(event);
  }

  /** Shows the replayed turns, except finished ones whose first events are no longer retained; these are loaded from the stored records. */
  private showReplayed(): void {
    const replayed = [...this.turns.value, ...(this.replayed ?? [])];
    this.replayed = null;
    const kept = replayed.filter(({ turn }) => turn.isComplete || !isFinished(turn));
    for (const live of replayed) if (!kept.includes(live)) this.turnsByTask.delete(live.turn.id);
    if (replayed.length > 0) this.turns.value = kept;
  }

  private clearTurns(): void {
    this.turnsByTask.clear();
    this.turns.value = [];
    if (this.replayed !== null) this.replayed = [];
  }

  private applyEvent(event: WireEvent): void {
    if (event.event === "session_titled" || event.event === "session_changed") return this.tell(event);
    if (event.event === "session_deleted") {
      // A session that gets the same id later is a new one, and its events are numbered from the beginning.
      this.clearTurns();
      this.lastSeq = 0;
      return this.tell(event);
    }
    if ((event.event === "model_attempt" || event.event === "model_fallback") && event.data.purpose === "title") return;
    let live = this.turnsByTask.get(event.data.task_id);
    if (live === undefined && event.event === "feedback_recorded") return; // the turn's own events are not retained
    if (live === undefined) {
      live = liveTurn(createTurn(event.data.task_id));
      this.turnsByTask.set(event.data.task_id, live);
      if (this.replayed === null) this.turns.value = [...this.turns.value, live];
      else this.replayed.push(live);
    }
    applyEvent(live.turn, event);
    if (event.event === "task_queued" && this.isNew && this.summary.value === null) void this.loadSummary().catch(() => undefined);
    this.changedTurns.add(live);
    if (this.animationFrame === 0) this.animationFrame = requestAnimationFrame(this.notifyChanges);
    this.tell(event);
  }

  private tell(event: WireEvent): void {
    if (this.isNews) this.handlers.onEvent(event);
  }

  /** Renders what changed, in an animation frame: a hidden tab has none and needs no rendering. */
  private readonly notifyChanges = (now: number): void => {
    if (now - this.renderedAt < RENDER_INTERVAL_MS) return void (this.animationFrame = requestAnimationFrame(this.notifyChanges));
    this.renderedAt = now;
    this.animationFrame = 0;
    for (const live of this.changedTurns) live.version.value++;
    this.changedTurns.clear();
  };
}
