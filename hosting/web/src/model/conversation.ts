// One session on the page: its turns, kept up to date, and older ones when somebody scrolls up.
import { signal, type Signal } from "@preact/signals";
import { get, Refused } from "../wire/api";
import type { Connection } from "../wire/connection";
import type { LogRecord, WireEvent } from "../wire/protocol";
import { turnsOf } from "./log";
import { apply, isOver, newTurn, type Turn } from "./turn";

/** Records of the log that are fetched at once. */
const PAGE = 200;

/** A turn and a number that rises when it changes: so that only this turn is drawn again. */
export interface LiveTurn {
  turn: Turn;
  version: Signal<number>;
}

interface Joined {
  seq: number;
  events: WireEvent[];
  partial?: boolean;
}

export class Conversation {
  readonly turns = signal<readonly LiveTurn[]>([]);
  readonly state = signal<"new" | "loading" | "open" | "failed">("new");
  /** Whether there are turns before the first one. */
  readonly older = signal(false);
  /** Whether it may begin here; any other that the host does not know is a wrong address, and looking makes none. */
  fresh = false;
  private readonly byTask = new Map<string, LiveTurn>();
  private readonly changed = new Set<LiveTurn>();
  /** Where it is heard. */
  private line: Connection | null = null;
  private seq = 0;
  private drawing = 0;
  private joining: Promise<void> | null = null;
  /** What came while it was being joined. */
  private early: WireEvent[] = [];

  constructor(
    readonly id: string,
    /** Where it may be heard: as one's own first, then as an operator. */
    private readonly lines: () => Connection[],
    private readonly told: (event: WireEvent) => void,
  ) {}

  /** Hear it: all that is kept of it at first, what was missed after a break. */
  join(): Promise<void> {
    this.joining ??= this.catchUp().finally(() => this.joinedOrNot());
    return this.joining;
  }

  receive(event: WireEvent, from: Connection): void {
    if (this.line === null && this.joining === null) return; // joining brings it
    if (this.line !== null && from !== this.line) return;
    this.take(event);
  }

  private take(event: WireEvent): void {
    if (this.joining !== null) return void this.early.push(event);
    const seq = event.data.seq;
    if (seq !== undefined) {
      if (seq <= this.seq) return; // known
      if (seq > this.seq + 1 && this.state.value === "open") return void this.join(); // something is missing
      this.seq = seq;
    }
    this.apply(event);
  }

  /** Turns that wait, run or ask. */
  unfinished(): LiveTurn[] {
    return this.turns.value.filter(({ turn }) => !isOver(turn));
  }

  async loadOlder(): Promise<void> {
    const first = this.turns.value.find(({ turn }) => turn.firstRecord > 0)?.turn.firstRecord;
    const page = await get<{ items: LogRecord[]; more: boolean }>(`${this.path}/messages`, { before: first ?? 2 ** 50, limit: PAGE });
    const found = turnsOf(page.items);
    // The first may be cut off; it comes whole with the page before it, unless there is nothing but it.
    if (page.more && found.length > 1) found.shift();
    const fresh = found.filter((turn) => !this.byTask.has(turn.id)).map((turn) => ({ turn, version: signal(0) }));
    for (const live of fresh) this.byTask.set(live.turn.id, live);
    this.turns.value = [...fresh, ...this.turns.value];
    this.older.value = page.more;
  }

  private get path(): string {
    return `/api/sessions/${encodeURIComponent(this.id)}`;
  }

  private async catchUp(): Promise<void> {
    const first = this.state.value !== "open";
    if (first) this.state.value = "loading";
    try {
      if (first && !this.fresh) await get(this.path);
      const joined = await this.ask();
      if (joined.partial && !first) this.forget();
      for (const event of joined.events) {
        const { seq } = event.data;
        if (seq !== undefined && seq <= this.seq) continue; // it came by itself: who sends a message hears its session
        this.seq = seq ?? this.seq;
        this.apply(event);
      }
      this.seq = Math.max(this.seq, joined.seq);
      if (first || joined.partial) {
        this.dropHalves();
        await this.loadOlder();
      }
      this.state.value = "open";
    } catch (error) {
      if (first) this.state.value = "failed";
      throw error;
    }
  }

  private async ask(): Promise<Joined> {
    const lines = this.lines();
    for (const line of lines) {
      try {
        const joined = await line.ask<Joined>("join_session", { session_id: this.id, last_seq: this.seq });
        this.line = line;
        return joined;
      } catch (error) {
        const more = line !== lines.at(-1);
        if (!(more && error instanceof Refused && error.code === "forbidden")) throw error;
      }
    }
    throw new Refused("unreachable", "there is no connection to the host");
  }

  private joinedOrNot(): void {
    this.joining = null;
    const early = this.early;
    this.early = [];
    for (const event of early) this.take(event);
  }

  /** Turns whose beginning the host no longer has as events come from the log instead, whole. */
  private dropHalves(): void {
    const whole = this.turns.value.filter(({ turn }) => turn.whole || !isOver(turn));
    for (const live of this.turns.value) if (!whole.includes(live)) this.byTask.delete(live.turn.id);
    this.turns.value = whole;
  }

  private forget(): void {
    this.byTask.clear();
    this.turns.value = [];
  }

  private apply(event: WireEvent): void {
    if (event.event === "session_titled") return this.told(event);
    if (event.event === "model_attempt" && event.data.purpose === "title") return;
    let live = this.byTask.get(event.data.task_id);
    if (live === undefined) {
      live = { turn: newTurn(event.data.task_id), version: signal(0) };
      this.byTask.set(event.data.task_id, live);
      this.turns.value = [...this.turns.value, live];
    }
    apply(live.turn, event);
    this.changed.add(live);
    // A picture per frame, however many events came; a hidden tab has no frames, and needs none.
    if (this.drawing === 0) this.drawing = requestAnimationFrame(() => this.draw());
    this.told(event);
  }

  private draw(): void {
    this.drawing = 0;
    for (const live of this.changed) live.version.value++;
    this.changed.clear();
  }
}
