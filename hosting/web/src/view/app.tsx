// Root component: layout with sidebar, header, and the content of the current route.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { announcement, approvals, currentSession, foreignOwner, shortcutsOpen, connectionState, currentUser, notice, signInMessage, sessionTitle } from "../model/app-state";
import { unseenTurns } from "../model/notifications";
import type { Page } from "../model/page";
import { listPages, routeUrl, route } from "../model/router";
import { toOneLine } from "../text/escape-controls";
import { plural, t } from "../text/translate";
import { Composer } from "./composer";
import { ShortcutsDialog, useKeyboardShortcuts } from "./keyboard-shortcuts";
import { IconButton } from "./controls";
import { OperatorsOnly } from "./operator-nav";
import { Sidebar } from "./sidebar";
import { SignIn } from "./sign-in";
import { MessageList } from "./message-list";
import { SessionUsage } from "../features/usage/usage-page";
import { useDrawer } from "./drawer";

export function App(): JSX.Element | null {
  const [sidebarOpen, setSidebarOpen] = useDrawer();
  useKeyboardShortcuts((open) => (shortcutsOpen.value = open), setSidebarOpen);
  useDocumentTitle();
  if (signInMessage.value !== null) return <SignIn />;
  return (
    <div class={sidebarOpen ? "page sidebar-open" : "page"}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        {t("Skip to the content")}
      </a>
      <main id="content" tabIndex={-1}>
        <header class="top">
          <IconButton icon="menu" label={t("Show the conversations")} class="only-narrow" onClick={() => setSidebarOpen(true)} />
          <h1>
            <bdi>{pageTitle()}</bdi>
          </h1>
          {route.value.page === "session" && <SessionUsage />}
          <ConnectionStatus />
        </header>
        <Content />
        <Notice />
      </main>
      <Sidebar onGone={() => setSidebarOpen(false)} />
      <div class="backdrop" onClick={() => setSidebarOpen(false)} />
      <p class="off-screen" role="status" aria-live="polite">
        {announcement.value}
      </p>
      {shortcutsOpen.value && <ShortcutsDialog onClose={() => (shortcutsOpen.value = false)} />}
    </div>
  );
}

function Content(): JSX.Element | null {
  const page = listPages().find(({ name }) => name === route.value.page);
  if (page !== undefined) return page.icon === null ? <OperatorPage View={page.View} /> : <page.View />;
  const session = currentSession.value;
  if (session === null) return currentUser.value === null && connectionState.value === "broken" ? <p class="empty">{t("The host does not respond. Retrying…")}</p> : null;
  const owner = foreignOwner(session.id);
  return (
    // The keyboard reaches the message field before the messages, which are read from it upwards.
    <>
      {owner === null ? (
        <Composer session={session} />
      ) : (
        <p class="read-only-hint">{t("This conversation belongs to {owner}. You can watch it and decide its approvals.", { owner: toOneLine(owner, 60) })}</p>
      )}
      <PendingApprovalsLink />
      <MessageList session={session} />
    </>
  );
}

/** A page for operators; what it shows is not asked for before it is known who looks. */
function OperatorPage({ View }: { View: Page["View"] }): JSX.Element | null {
  if (currentUser.value === null) return null;
  return currentUser.value.operator ? <View /> : <OperatorsOnly />;
}

/** Link to the approvals page, shown if another session has an open approval. */
function PendingApprovalsLink(): JSX.Element | null {
  const here = route.value.page === "session" ? route.value.id : "";
  const others = approvals.value.filter((each) => each.session_id !== here);
  if (others.length === 0 || route.value.page === "approvals") return null;
  return (
    <a class="pending-approvals" href={routeUrl({ page: "approvals" })}>
      {plural(others.length, "An approval is pending in another conversation", "{count} approvals are pending in other conversations")}
    </a>
  );
}

/** Connection status; shown only if the connection has been lost for some time. */
function ConnectionStatus(): JSX.Element | null {
  const [isLasting, setLasting] = useState(false);
  const broken = connectionState.value !== "open";
  useEffect(() => {
    setLasting(false);
    const timer = setTimeout(() => setLasting(true), 800);
    return () => clearTimeout(timer);
  }, [broken]);
  if (!broken || !isLasting) return null;
  return (
    <span class="connection-status" role="status">
      <span class="pulse waiting" aria-hidden="true" /> {currentUser.value === null ? t("Connecting…") : t("Reconnecting…")}
    </span>
  );
}

function Notice(): JSX.Element | null {
  const current = notice.value;
  useEffect(() => {
    if (current === null) return;
    const timer = setTimeout(() => (notice.value = null), current.isError ? 10_000 : 5_000);
    return () => clearTimeout(timer);
  }, [current]);
  if (current === null) return null;
  return (
    <div class="notice-place">
      <div class={current.isError ? "notice bad" : "notice"} role={current.isError ? "alert" : "status"}>
        <p lang={current.lang}>{toOneLine(current.text, 400)}</p>
        <IconButton icon="close" label={t("Dismiss")} onClick={() => (notice.value = null)} />
      </div>
    </div>
  );
}

function pageTitle(): string {
  const current = route.value;
  if (current.page === "session") return toOneLine(sessionTitle(current.id), 100);
  return listPages().find(({ name }) => name === current.page)?.title() ?? t("New conversation");
}

function useDocumentTitle(): void {
  const waiting = approvals.value.length + unseenTurns.value;
  const name = pageTitle();
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name} – Sophon`;
  }, [waiting, name]);
}
