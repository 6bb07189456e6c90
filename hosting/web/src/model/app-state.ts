// Application state (signals) and the actions of the user.
import { computed, effect, signal } from "@preact/signals";
import { ApiError, call, download } from "../wire/http-api";
import * as operations from "../wire/operations";
import { loadLargeFields } from "../wire/large-texts";
import { SocketConnection } from "../wire/socket";
import type { WireEvent } from "../wire/events";
import type { ApprovalDecision, ApprovalView, AttachmentDetail, ChainView, CurrentUser, ListedTool, ProviderModels, SessionPage, SessionView, SkillView } from "../wire/types";
import { forgetToken, storeToken } from "../wire/token-storage";
import { BranchRequests } from "./branches";
import { canContinue, continuationMessage } from "./continuation";
import { forgetDrafts } from "./drafts";
import { LiveSession, type SessionChoices } from "./live-session";
import { DecisionQueue, isTemporaryError } from "./decision-queue";
import { isOffTheRecord } from "./off-the-record";
import { noteEndedTurn, notifyReader } from "./notifications";
import { searchMessages } from "./message-search";
import { newId, SendQueue } from "./send-queue";
import { navigate, route } from "./router";
import { saveFile } from "./save-file";
import { t } from "../text/translate";
import { errorText, hostErrorText, type ErrorText } from "../text/error-text";

export type ConnectionState = "connecting" | "open" | "broken" | "refused";

export const currentUser = signal<CurrentUser | null>(null);
/** Message of the sign-in form; empty shows the form without one, null shows no form. */
export const signInMessage = signal<string | null>(null);
export const connectionState = signal<ConnectionState>("connecting");
export const sessions = signal<readonly SessionView[] | null>(null);
export const searchText = signal("");
/** Whether the list has the archived conversations instead of the others. */
export const listsArchived = signal(false);
/** Cursor of the page that follows the listed sessions; null if all are listed. */
export const nextSessions = signal<string | null>(null);
export const approvals = signal<readonly ApprovalView[]>([]);
/** Sessions with a running turn or an open approval, as far as known from events. */
export const sessionActivity = signal<ReadonlyMap<string, "running" | "waiting">>(new Map());
export const chain = signal<ChainView | null>(null);
export const providers = signal<readonly ProviderModels[]>([]);
export const tools = signal<ReadonlyMap<string, ListedTool>>(new Map());
/** The skills that a person may call from the message field. */
export const callableSkills = signal<readonly SkillView[]>([]);
/** A message about an error or a finished action, shown for some seconds. */
export const notice = signal<(ErrorText & { isError: boolean }) | null>(null);
/** Whether the dialog with the keyboard shortcuts is open. */
export const shortcutsOpen = signal(false);
/** Text of the live region for screen readers. */
export const announcement = signal("");
/** A quotation that the message field takes up; null once it has. */
export const quotedText = signal<string | null>(null);
/** Incremented when the usage may have changed. */
export const usageVersion = signal(0);

const REJOIN_DELAY_MS = 500;
/** Time without a key after which messages are searched. */
const SEARCH_DELAY_MS = 300;
let searchTimer = 0;

const liveSessions = new Map<string, LiveSession>();
let chatSocket: SocketConnection | null = null;
let operatorSocket: SocketConnection | null = null;

export const sendQueue = new SendQueue(() => chatSocket, storeChoices);
const branchRequests = new BranchRequests(newId);
export const decisionQueue = new DecisionQueue(
  () => (operatorSocket?.connected ? operatorSocket : chatSocket),
  () => currentUser.value?.user,
);

/** Id of the next new session; replaced when it is used. */
const nextSessionId = signal(newId());

export const currentSession = computed<LiveSession | null>(() => {
  if (currentUser.value === null) return null;
  if (route.value.page === "session") return getOrCreateSession(route.value.id);
  return route.value.page === "new" ? getOrCreateSession(nextSessionId.value) : null;
});

export const isOfflineOnly = computed(
  () => providers.value.length > 0 && providers.value.every((each) => each.provider === "offline"),
);

/** Load the current user, then connect; retries every 2 s while the host is unreachable. */
export async function start(): Promise<void> {
  let user: CurrentUser;
  // A conversation that the address names is requested together with the user.
  if (route.value.page === "session") getOrCreateSession(route.value.id).prefetch();
  try {
    user = await call(operations.getCurrentUser);
  } catch (error) {
    for (const session of liveSessions.values()) session.forgetPrefetched();
    if (error instanceof ApiError && error.code === "unauthorized") {
      signInMessage.value = "";
      return;
    }
    connectionState.value = "broken";
    setTimeout(() => void start(), 2_000);
    return;
  }
  connectSockets(user);
  currentUser.value = user;
  signInMessage.value = null;
  void refreshSessions();
  void refreshHost();
}

export async function signInWithToken(token: string, stay: boolean): Promise<void> {
  storeToken(token, stay);
  await start();
  if (signInMessage.value !== null) {
    forgetToken();
    signInMessage.value = t("This token is not known; see Hub.Users in the host's settings.");
  }
}

export function signOut(): void {
  forgetToken();
  forgetDrafts();
  location.hash = "";
  location.reload();
}

/** Makes an answer again, or replaces a message, in a new branch, and goes there. Returns whether the host did it. */
export async function branch(session: LiveSession, task: string, how: { content: string } | { model?: string }): Promise<boolean> {
  const request = JSON.stringify([session.id, task, how]);
  return await reportErrors(async () => {
    const id = branchRequests.begin(request);
    try {
      const accepted =
        "content" in how
          ? await chatSocket!.call(operations.sendMessage, { session_id: session.id, replaces: task, content: how.content, client_message_id: id })
          : await chatSocket!.call(operations.regenerate, { session_id: session.id, task_id: task, client_message_id: id, ...how });
      branchRequests.end(request);
      navigate({ page: "session", id: accepted.session_id });
      announcement.value = t("You are now in a new version of the conversation; the old one is kept.");
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "unreachable")) branchRequests.end(request);
      throw error;
    }
  });
}

/** Makes the last finished answer of the open session again. */
export async function regenerateLast(): Promise<void> {
  const session = currentSession.value;
  const last = session?.turns.value.at(-1)?.turn;
  if (session == null || last === undefined) notice.value = { text: t("There is no answer yet."), isError: true };
  else await branch(session, last.id, {});
}

/** Asks for the rest of the last answer of the open session. */
export function continueLast(): void {
  const last = currentSession.value?.turns.value.at(-1)?.turn;
  if (last !== undefined && canContinue(last)) sendMessage(continuationMessage(last));
  else notice.value = { text: t("The last answer has not ended early."), isError: true };
}

/** The model and the planning mode of a session; of a new one those that it will have. */
export function sessionChoices(session: LiveSession): SessionChoices {
  return session.newChoices.value ?? { model: session.summary.value?.model ?? null, planning: session.summary.value?.planning ?? null };
}

/** Chooses the model or the planning mode of a session, also for other devices; of a new one when its first message is sent. */
export async function chooseForSession(session: LiveSession, change: Partial<SessionChoices>): Promise<void> {
  if (session.summary.value === null) session.newChoices.value = { ...sessionChoices(session), ...change };
  else await reportErrors(() => session.patch(change));
}

/** Gives a new session what was chosen for it, before its first message. */
function storeChoices(id: string): Promise<void> | null {
  const session = liveSessions.get(id);
  const choices = session?.newChoices.value;
  if (session === undefined || choices == null) return null;
  return session
    .join() // creates it
    .then(() => session.patch(choices))
    .then(() => void (session.newChoices.value = null));
}

export function sendMessage(text: string, attachments: readonly AttachmentDetail[] = []): void {
  const session = currentSession.value;
  if (session === null) return;
  if (notice.peek()?.isError) notice.value = null; // what was wrong with the text is corrected
  if (session.state.value === "new") session.isNew = !isOffTheRecord(session.id);
  sendQueue.add(session.id, text, attachments);
  focusComposer();
  if (route.value.page === "new") {
    nextSessionId.value = newId();
    navigate({ page: "session", id: session.id });
  }
}

export function startSession(): void {
  navigate({ page: "new" });
  announcement.value = t("New conversation");
}

/** Begins a conversation off the record; the host chooses its id. */
export async function startOffTheRecord(): Promise<void> {
  await reportErrors(async () => {
    const { session_id } = await call(operations.openSession, { mode: "otr" });
    navigate({ page: "session", id: session_id });
    announcement.value = t("New conversation off the record");
  });
}

/** The owner of a session if it is another user. An operator can watch such a session and decide approvals, but not write. */
export function foreignOwner(id: string): string | null {
  const owner = summaryOf(id)?.owner;
  return owner !== undefined && currentUser.value !== null && owner !== currentUser.value.user ? owner : null;
}

/** The title of a session without one. */
export function untitledSession(): string {
  return t("Conversation");
}

/** The stored facts of a session: those of the list, or, for a branch that is not listed, those it was opened with. */
function summaryOf(id: string): SessionView | undefined {
  return sessions.value?.find((each) => each.session_id === id) ?? liveSessions.get(id)?.summary.value ?? undefined;
}

/** The title of a session; before it has one, its first message. Off the record neither: the browser remembers titles. */
export function sessionTitle(id: string): string {
  if (isOffTheRecord(id)) return t("Off the record");
  const title = summaryOf(id)?.title;
  return title || liveSessions.get(id)?.turns.value[0]?.turn.text || untitledSession();
}

export async function cancelTask(task: string): Promise<void> {
  await reportErrors(() => chatSocket!.call(operations.cancelTask, { task_id: task }));
}

/** Cancels the newest unfinished turn. */
export function cancelLastTask(): void {
  const last = currentSession.value?.unfinishedTurns().at(-1);
  if (last !== undefined) void cancelTask(last.turn.id);
}

/** Says what the user thinks of an answer: -1 (bad) to 1 (good), 0 takes it back. The host's event changes the turn. */
export async function rateAnswer(task: string, value: number, text = ""): Promise<void> {
  await reportErrors(() => chatSocket!.call(operations.sendFeedback, { task_id: task, value, ...(text === "" ? {} : { text }), source: "page" }));
}

export async function decideApproval(decision: ApprovalDecision): Promise<boolean> {
  const done = await reportErrors(() => decisionQueue.add(decision), true);
  void refreshApprovals();
  if (done) focusComposer(); // the focused button has been removed
  return done;
}

export async function renameSession(session: string, title: string): Promise<void> {
  await reportErrors(() => call(operations.changeSession, { session_id: session, title }));
  await refreshSessions();
}

/** Pins or archives a conversation, or no longer. */
export async function markSession(session: string, marks: { pinned?: boolean; archived?: boolean }): Promise<void> {
  await reportErrors(() => call(operations.changeSession, { session_id: session, ...marks }));
  await refreshSessions();
}

/** Copies a session, or its beginning up to the end of a task, as a conversation of its own, and goes there. */
export async function forkSession(session: string, task?: string): Promise<void> {
  await reportErrors(async () => {
    const copy = await call(operations.forkSession, { source_id: session, task_id: task });
    await refreshSessions();
    navigate({ page: "session", id: copy.session_id });
    notice.value = { text: t("You are now in the copy; the original conversation is unchanged."), isError: false };
  });
}

export async function deleteSession(session: string): Promise<void> {
  const done = await reportErrors(() => call(operations.deleteSession, { session_id: session }));
  if (!done) return;
  liveSessions.delete(session);
  if (route.value.page === "session" && route.value.id === session) navigate({ page: "new" }, true);
  await refreshSessions();
}

export async function exportSession(session: string, format: "markdown" | "json"): Promise<void> {
  await reportErrors(async () => {
    saveFile(await download(operations.exportSession, { session_id: session, format }), `session-${session}.${format === "json" ? "json" : "md"}`);
  });
}

/** Sessions in a page of the sidebar's list, and the most that a refresh reads again. */
const SESSIONS_PER_PAGE = 100;
const MAX_REFRESHED_SESSIONS = 1000;

function getSessionPage(page: { limit: number; cursor?: string }): Promise<SessionPage> {
  const kind = searchText.value !== "" ? "all" : listsArchived.value ? "archived" : "open";
  return call(operations.listSessions, { ...page, kind, q: searchText.value, everything: currentUser.value?.operator === true });
}

/** The pinned conversations, which are listed first however old they are; none in other lists. */
async function getPinnedSessions(): Promise<SessionView[]> {
  if (searchText.value !== "" || listsArchived.value) return [];
  return (await call(operations.listSessions, { kind: "pinned", limit: SESSIONS_PER_PAGE })).items;
}

/** Append the next page to the list of sessions. */
export async function loadMoreSessions(): Promise<void> {
  const [cursor, search] = [nextSessions.value, searchText.value];
  if (cursor === null) return;
  await reportErrors(async () => {
    const found = await getSessionPage({ limit: SESSIONS_PER_PAGE, cursor });
    if (nextSessions.value !== cursor || searchText.value !== search) return;
    const known = new Set(sessions.value?.map((each) => each.session_id));
    sessions.value = [...(sessions.value ?? []), ...found.items.filter((each) => !known.has(each.session_id))];
    nextSessions.value = found.next_cursor;
  });
}

/** How many sessions a refresh reads: as many as are listed. */
function refreshedSessions(): number {
  return Math.min(Math.max(sessions.value?.length ?? 0, SESSIONS_PER_PAGE), MAX_REFRESHED_SESSIONS);
}

export async function refreshSessions(): Promise<void> {
  try {
    const limit = refreshedSessions();
    const [found, pinned] = await Promise.all([getSessionPage({ limit }), getPinnedSessions()]);
    // More are listed by now: this page would hide them again.
    if (refreshedSessions() > limit) return await refreshSessions();
    const listed = new Set(found.items.map((each) => each.session_id));
    sessions.value = [...found.items, ...pinned.filter((each) => !listed.has(each.session_id))];
    for (const item of sessions.value) {
      const live = liveSessions.get(item.session_id);
      if (live?.summary.value) live.summary.value = item; // changed on another device
    }
    nextSessions.value = found.next_cursor;
  } catch {
    // The connection status reports an unreachable host; the list keeps its content.
  }
}

export async function refreshHost(): Promise<void> {
  try {
    const [running, models, known, skills] = await Promise.all([
      call(operations.getChain),
      call(operations.listModels),
      call(operations.listTools),
      call(operations.listSkills),
    ]);
    callableSkills.value = skills.items.filter((each) => each.callable && each.enabled);
    chain.value = running;
    providers.value = models.items;
    tools.value = new Map(known.items.map((tool) => [tool.name, tool]));
  } catch {
    // As above.
  }
}

export async function refreshApprovals(): Promise<void> {
  const source = operatorSocket?.connected ? operatorSocket : chatSocket;
  try {
    if (source === null) return;
    const { items } = await source.call(operations.listOpenApprovals);
    for (const item of items) await loadLargeFields(item);
    approvals.value = items;
  } catch {
    // As above.
  }
}

function getOrCreateSession(id: string): LiveSession {
  let session = liveSessions.get(id);
  if (session === undefined) {
    session = new LiveSession(id, () => (operatorSocket?.connected ? [chatSocket!, operatorSocket] : [chatSocket!]), { onEvent: handleSessionEvent, onOpen: handleOpened });
    liveSessions.set(id, session);
  }
  return session;
}

function connectSockets(user: CurrentUser): void {
  chatSocket ??= new SocketConnection("/", {
    onEvent: (event) => {
      const open = liveSessions.get(event.data.session_id);
      if (open === undefined) updateActivity(event); // what is shown of a conversation that is not open here
      else open.receive(event, chatSocket!);
    },
    onConnect: () => {
      connectionState.value = "open";
      rejoinOpenSessions();
      const open = currentSession.value;
      if (open !== null && route.value.page === "session" && open.state.value !== "open") void joinSession(open);
      sendQueue.resend();
      decisionQueue.resend();
      void refreshApprovals();
      void refreshSessions();
    },
    onDisconnect: (error) => {
      for (const session of liveSessions.values()) session.noteDisconnect();
      connectionState.value = error?.code === "unauthorized" ? "refused" : "broken";
      if (error?.code === "unauthorized") signInMessage.value = t("You were signed out: the host no longer knows this token.");
    },
  });
  if (user.operator && operatorSocket === null) {
    operatorSocket = new SocketConnection("/operator", {
      onEvent: handleOperatorEvent,
      onConnect: () => {
        decisionQueue.resend();
        void refreshApprovals();
        rejoinOpenSessions();
        const open = currentSession.value;
        if (open?.state.value === "failed") void joinSession(open);
      },
      onDisconnect: () => undefined,
    });
  }
}

/** Takes over the state of a session that was opened. */
function handleOpened(session: LiveSession): void {
  const unfinished = session.unfinishedTurns();
  for (const { turn } of session.turns.value) sendQueue.removeDelivered(turn.id);
  const isWaiting = unfinished.some(({ turn }) => turn.state === "waiting");
  setActivity(session.id, isWaiting ? "waiting" : unfinished.length > 0 ? "running" : null);
  if (isWaiting) void refreshApprovals();
  usageVersion.value++;
}

/** Handles an event of a session that is open on this page. */
function handleSessionEvent(event: WireEvent): void {
  updateActivity(event);
  if (event.event === "task_queued") sendQueue.removeDelivered(event.data.task_id);
  notifyOf(event);
  if (event.event === "task_started") announcement.value = ""; // the same text again is announced only after another one
  if (event.event === "approval_requested") announcement.value = t("Approval required: {tool}", { tool: event.data.tool });
  if (event.event === "task_completed") announcement.value = t("The answer is complete");
  if (event.event === "task_failed") announcement.value = t("The turn failed: {message}", { message: hostErrorText(event.data.error.code, event.data.error.message).text });
  if (event.event === "task_cancelled") announcement.value = t("The turn was cancelled");
}

const ENDINGS: Partial<Record<WireEvent["event"], () => string>> = {
  task_completed: () => t("The answer is complete"),
  task_failed: () => t("The turn failed"),
};

/** Notifies the reader, who looks at something else, of what waits for them. */
function notifyOf(event: WireEvent): void {
  const id = event.data.session_id;
  const ending = ENDINGS[event.event]?.();
  if (ending !== undefined) noteEndedTurn();
  const title = event.event === "approval_requested" ? t("Approval required: {tool}", { tool: event.data.tool }) : ending;
  if (title !== undefined) notifyReader(title, sessionTitle(id), id, () => navigate({ page: "session", id }));
}

/** Handles an event of any session; operators only. */
function handleOperatorEvent(event: WireEvent): void {
  const open = liveSessions.get(event.data.session_id);
  if (open === undefined) updateActivity(event);
  else open.receive(event, operatorSocket!);
}

function updateActivity(event: WireEvent): void {
  const { session_id: session } = event.data;
  if (event.event === "task_started" || event.event === "task_queued") setActivity(session, "running");
  if (event.event === "approval_requested") setActivity(session, "waiting");
  if (event.event === "approval_resolved") setActivity(session, "running");
  if (event.event === "approval_requested" || event.event === "approval_resolved") void refreshApprovals();
  if (event.event === "task_completed" || event.event === "task_failed" || event.event === "task_cancelled") {
    setActivity(session, null);
    usageVersion.value++;
  }
  if (event.event === "task_queued" || event.event === "session_titled" || event.event === "session_changed" || event.event === "session_deleted" || event.event === "task_completed") scheduleOnce(refreshSessions);
}

function setActivity(session: string, state: "running" | "waiting" | null): void {
  const next = new Map(sessionActivity.value);
  if (state === null) next.delete(session);
  else next.set(session, state);
  sessionActivity.value = next;
}

function focusComposer(): void {
  requestAnimationFrame(() => document.getElementById("composer")?.focus({ preventScroll: true }));
}

let refreshTimer = 0;

/** Calls the action once for all calls within 300 ms. */
function scheduleOnce(action: () => Promise<void>): void {
  if (refreshTimer === 0) {
    refreshTimer = window.setTimeout(() => {
      refreshTimer = 0;
      void action();
    }, 300);
  }
}

function rejoinOpenSessions(): void {
  for (const each of liveSessions.values()) if (each.state.value === "open") void rejoinSession(each);
}

/** Joins a session again after a reconnect. A host that is still starting rejects it: without another attempt the page would miss all later events. */
async function rejoinSession(session: LiveSession): Promise<void> {
  try {
    await session.join();
  } catch (error) {
    if (!isTemporaryError(error)) notice.value = { ...errorText(error), isError: true };
    else if (connectionState.value === "open" && liveSessions.get(session.id) === session) {
      window.setTimeout(() => void rejoinSession(session), REJOIN_DELAY_MS);
    }
  }
}

async function joinSession(session: LiveSession): Promise<void> {
  await reportErrors(() => session.join());
}

/** Runs an action, shows its error as a notice, and returns whether it succeeded. `deciding` treats `already_decided` as information. */
export async function reportErrors(action: () => Promise<unknown>, deciding = false): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (deciding && error instanceof ApiError && error.code === "already_decided") {
      notice.value = { text: t("Already decided by {user}.", { user: String(error.extra["decided_by"] ?? t("another user")) }), isError: false };
    } else notice.value = { ...errorText(error), isError: true };
    return false;
  }
}

// Join a session when it is first shown; a new one when its first message is sent.
effect(() => {
  const session = currentSession.value;
  if (session === null || connectionState.value !== "open") return;
  if (route.value.page !== "session") return;
  if (session.state.peek() === "new") void joinSession(session);
  else if (session.state.peek() === "open" && session.summary.peek() !== null) void session.loadSummary().catch(() => undefined); // further branches
});

// What went wrong on another page is no longer of interest; what navigation itself reports comes after it.
effect(() => {
  void route.value;
  if (notice.peek()?.isError) notice.value = null;
});

effect(() => {
  const searched = searchText.value;
  void listsArchived.value;
  if (currentUser.value !== null) scheduleOnce(refreshSessions);
  clearTimeout(searchTimer);
  searchTimer = window.setTimeout(() => void reportErrors(() => searchMessages(searched)), SEARCH_DELAY_MS);
});

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && currentUser.value !== null) scheduleOnce(refreshSessions);
});
