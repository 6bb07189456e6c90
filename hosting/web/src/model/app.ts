// All that the page knows, and what a person can do on it.
import { computed, effect, signal } from "@preact/signals";
import { download, get, Refused, send } from "../wire/api";
import { Connection } from "../wire/connection";
import type { ApprovalInfo, Arguments, ChainInfo, Me, ProviderInfo, Session, Tool, WireEvent } from "../wire/protocol";
import { forgetToken, storeToken } from "../wire/token";
import { Conversation } from "./conversation";
import { newId, Outbox } from "./outbox";
import { go, route } from "./route";

export type Line = "connecting" | "open" | "broken" | "refused";

export const me = signal<Me | null>(null);
/** Why a token is asked for; null if none is. */
export const signIn = signal<string | null>(null);
export const line = signal<Line>("connecting");
export const sessions = signal<readonly Session[] | null>(null);
export const search = signal("");
export const approvals = signal<readonly ApprovalInfo[]>([]);
/** Sessions in which something runs or waits, as far as it is known here. */
export const active = signal<ReadonlyMap<string, "running" | "waiting">>(new Map());
export const chain = signal<ChainInfo | null>(null);
export const providers = signal<readonly ProviderInfo[]>([]);
export const tools = signal<ReadonlyMap<string, Tool>>(new Map());
/** One line about what went wrong or was done, shown for a while. */
export const notice = signal<{ text: string; bad: boolean } | null>(null);
/** Whether the list of keys is open. */
export const keysShown = signal(false);
/** What a screen reader is told. */
export const announced = signal("");
/** Raised when the usage may have changed. */
export const spent = signal(0);

const conversations = new Map<string, Conversation>();
let chat: Connection | null = null;
let operator: Connection | null = null;

export const outbox = new Outbox(() => chat);

/** The id that the next new session gets; made anew once it is used. */
const nextId = signal(newId());

export const current = computed<Conversation | null>(() => {
  if (me.value === null) return null;
  if (route.value.page === "session") return conversationOf(route.value.id);
  return route.value.page === "new" ? conversationOf(nextId.value) : null;
});

export const offlineOnly = computed(
  () => providers.value.length > 0 && providers.value.every((each) => each.provider === "offline"),
);

/** Begin: find out who is here, then connect. */
export async function begin(): Promise<void> {
  let who: Me;
  try {
    who = await get<Me>("/api/me");
  } catch (error) {
    if (error instanceof Refused && error.code === "unauthorized") {
      signIn.value = "";
      return;
    }
    line.value = "broken";
    setTimeout(() => void begin(), 2_000);
    return;
  }
  connect(who);
  me.value = who;
  signIn.value = null;
  void refreshSessions();
  void refreshHost();
}

export async function signInWith(token: string, stay: boolean): Promise<void> {
  storeToken(token, stay);
  await begin();
  if (signIn.value !== null) {
    forgetToken();
    signIn.value = "This token is not known here. It stands in the host's settings, under Hub.Users.";
  }
}

export function signOut(): void {
  forgetToken();
  location.hash = "";
  location.reload();
}

export function say(text: string): void {
  const conversation = current.value;
  if (conversation === null) return;
  if (conversation.state.value === "new") conversation.fresh = true;
  outbox.add(conversation.id, text);
  focusComposer();
  if (route.value.page === "new") {
    nextId.value = newId();
    go({ page: "session", id: conversation.id });
  }
}

export function newSession(): void {
  go({ page: "new" });
  announced.value = "New conversation";
}

/** Whose session it is, if it is somebody else's: an operator watches it and decides in it, and writes nothing. */
export function foreignOwner(id: string): string | null {
  const owner = sessions.value?.find((each) => each.session_id === id)?.owner;
  return owner !== undefined && me.value !== null && owner !== me.value.user ? owner : null;
}

export const UNTITLED = "Conversation";

/** What a session is called: by its title, before it has one by what was said first. */
export function titleOf(id: string): string {
  const title = sessions.value?.find((each) => each.session_id === id)?.title;
  return title || conversations.get(id)?.turns.value[0]?.turn.text || UNTITLED;
}

export async function stop(task: string): Promise<void> {
  await tried(() => chat!.ask("cancel_task", { task_id: task }));
}

export async function decide(
  approval: string,
  decision: "approve" | "reject" | "edit",
  more: { arguments?: Arguments; reason?: string } = {},
): Promise<boolean> {
  const done = await tried(() => askDecision({ approval_id: approval, decision, ...more }), true);
  void refreshApprovals();
  if (done) focusComposer(); // the button that had the focus is gone
  return done;
}

export async function rename(session: string, title: string): Promise<void> {
  await tried(() => send("PATCH", pathOf(session), { title }));
  await refreshSessions();
}

export async function fork(session: string): Promise<void> {
  await tried(async () => {
    const copy = await send<Session>("POST", `${pathOf(session)}/fork`, {});
    await refreshSessions();
    go({ page: "session", id: copy.session_id });
    notice.value = { text: "This is the copy; the other conversation stays as it is.", bad: false };
  });
}

export async function remove(session: string): Promise<void> {
  const done = await tried(() => send("DELETE", pathOf(session)));
  if (!done) return;
  conversations.delete(session);
  if (route.value.page === "session" && route.value.id === session) go({ page: "new" }, true);
  await refreshSessions();
}

export async function save(session: string, format: "markdown" | "json"): Promise<void> {
  await tried(async () => {
    const address = URL.createObjectURL(await download(`${pathOf(session)}/export?format=${format}`));
    const link = document.createElement("a");
    link.href = address;
    link.download = `session-${session}.${format === "json" ? "json" : "md"}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
}

export async function refreshSessions(): Promise<void> {
  try {
    const found = await get<{ items: Session[] }>("/api/sessions", { q: search.value, limit: 200, everything: me.value?.operator === true });
    sessions.value = found.items;
  } catch {
    // The line tells when the host is away; the list stays as it was.
  }
}

export async function refreshHost(): Promise<void> {
  try {
    const [running, models, known] = await Promise.all([
      get<ChainInfo>("/api/chain"),
      get<{ items: ProviderInfo[] }>("/api/models"),
      get<{ items: Tool[] }>("/api/tools"),
    ]);
    chain.value = running;
    providers.value = models.items;
    tools.value = new Map(known.items.map((tool) => [tool.name, tool]));
  } catch {
    // As above.
  }
}

export async function refreshApprovals(): Promise<void> {
  const source = operator?.connected ? operator : chat;
  try {
    if (source !== null) approvals.value = (await source.ask<{ items: ApprovalInfo[] }>("list_approvals", {})).items;
  } catch {
    // As above.
  }
}

function conversationOf(id: string): Conversation {
  let known = conversations.get(id);
  if (known === undefined) {
    known = new Conversation(id, () => (operator?.connected ? [chat!, operator] : [chat!]), heardIn);
    conversations.set(id, known);
  }
  return known;
}

function connect(who: Me): void {
  chat ??= new Connection("/", {
    heard: (event) => conversations.get(event.data.session_id)?.receive(event, chat!),
    opened: () => {
      line.value = "open";
      for (const each of conversations.values()) if (each.state.value === "open") void each.join().catch(() => undefined);
      const open = current.value;
      if (open !== null && route.value.page === "session" && open.state.value !== "open") void joined(open);
      outbox.resend();
      void refreshApprovals();
      void refreshSessions();
    },
    closed: (why) => {
      line.value = why?.code === "unauthorized" ? "refused" : "broken";
      if (why?.code === "unauthorized") signIn.value = "You were signed out: the host no longer knows this token.";
    },
  });
  if (who.operator && operator === null) {
    operator = new Connection("/operator", {
      heard: watched,
      opened: () => {
        void refreshApprovals();
        for (const each of conversations.values()) if (each.state.value === "open") void each.join().catch(() => undefined);
        const open = current.value;
        if (open?.state.value === "failed") void joined(open);
      },
      closed: () => undefined,
    });
  }
}

/** Of a session that is open here. */
function heardIn(event: WireEvent): void {
  noted(event);
  if (event.event === "task_queued") outbox.arrived(event.data.task_id);
  if (event.event === "approval_requested") announced.value = `A decision is needed: ${event.data.tool}`;
  if (event.event === "task_completed") announced.value = "The answer is complete";
  if (event.event === "task_failed") announced.value = `The turn failed: ${event.data.error.message}`;
  if (event.event === "task_cancelled") announced.value = "The turn was stopped";
}

/** Of all sessions, for an operator. */
function watched(event: WireEvent): void {
  const open = conversations.get(event.data.session_id);
  if (open === undefined) noted(event);
  else open.receive(event, operator!);
}

function noted(event: WireEvent): void {
  const { session_id: session } = event.data;
  if (event.event === "task_started" || event.event === "task_queued") activate(session, "running");
  if (event.event === "approval_requested") activate(session, "waiting");
  if (event.event === "approval_resolved") activate(session, "running");
  if (event.event === "approval_requested" || event.event === "approval_resolved") void refreshApprovals();
  if (event.event === "task_completed" || event.event === "task_failed" || event.event === "task_cancelled") {
    activate(session, null);
    spent.value++;
  }
  if (event.event === "task_queued" || event.event === "session_titled" || event.event === "task_completed") later(refreshSessions);
}

function activate(session: string, state: "running" | "waiting" | null): void {
  const next = new Map(active.value);
  if (state === null) next.delete(session);
  else next.set(session, state);
  active.value = next;
}

function focusComposer(): void {
  requestAnimationFrame(() => document.getElementById("composer")?.focus({ preventScroll: true }));
}

let waiting = 0;

/** Once for all that happens within a moment. */
function later(what: () => Promise<void>): void {
  if (waiting === 0) {
    waiting = window.setTimeout(() => {
      waiting = 0;
      void what();
    }, 300);
  }
}

async function askDecision(payload: Record<string, unknown>): Promise<void> {
  const source = operator?.connected ? operator : chat!;
  await source.ask("decide_approval", payload);
}

async function joined(conversation: Conversation): Promise<void> {
  await tried(() => conversation.join());
}

/** Whether it was done; what went wrong is shown. `decided` leaves out what the events will show by themselves. */
async function tried(what: () => Promise<unknown>, decided = false): Promise<boolean> {
  try {
    await what();
    return true;
  } catch (error) {
    if (decided && error instanceof Refused && error.code === "already_decided") {
      notice.value = { text: `Already decided by ${String(error.extra["decided_by"] ?? "somebody else")}.`, bad: false };
    } else notice.value = { text: error instanceof Error ? error.message : String(error), bad: true };
    return false;
  }
}

function pathOf(session: string): string {
  return `/api/sessions/${encodeURIComponent(session)}`;
}

// A session is heard from when it is first shown; a new one when its first message is sent.
effect(() => {
  const conversation = current.value;
  if (conversation === null || line.value !== "open") return;
  if (route.value.page === "session" && conversation.state.peek() === "new") void joined(conversation);
});

effect(() => {
  void search.value;
  if (me.value !== null) later(refreshSessions);
});

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && me.value !== null) later(refreshSessions);
});
