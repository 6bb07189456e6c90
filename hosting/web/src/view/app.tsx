// Root component: layout with sidebar, header, and the content of the current route.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { announcement, approvals, currentSession, foreignOwner, shortcutsOpen, connectionState, currentUser, notice, signInMessage, sessionTitle } from "../model/app-state";
import { routeUrl, route } from "../model/router";
import { toOneLine } from "../text/escape-controls";
import { Composer } from "./composer";
import { HostPage } from "./host-page";
import { ApprovalsPage } from "./approvals-page";
import { ShortcutsDialog, useKeyboardShortcuts } from "./keyboard-shortcuts";
import { IconButton } from "./controls";
import { PolicyPage } from "./policy-page";
import { Sidebar } from "./sidebar";
import { SignIn } from "./sign-in";
import { MessageList } from "./message-list";
import { SessionUsage, UsagePage } from "./usage-page";

export function App(): JSX.Element | null {
  const [sidebarOpen, setSidebarOpen] = useState(false);
  useKeyboardShortcuts((open) => (shortcutsOpen.value = open), setSidebarOpen);
  useDocumentTitle();
  if (signInMessage.value !== null) return <SignIn />;
  return (
    <div class={sidebarOpen ? "page sidebar-open" : "page"}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        Skip to the content
      </a>
      <Sidebar onGone={() => setSidebarOpen(false)} />
      <div class="backdrop" onClick={() => setSidebarOpen(false)} />
      <main id="content" tabIndex={-1}>
        <header class="top">
          <IconButton icon="menu" label="Show the conversations" class="only-narrow" onClick={() => setSidebarOpen(true)} />
          <h1>
            <bdi>{pageTitle()}</bdi>
          </h1>
          {route.value.page === "session" && <SessionUsage />}
          <ConnectionStatus />
        </header>
        <PendingApprovalsLink />
        <Content />
      </main>
      <Notice />
      <p class="off-screen" role="status" aria-live="polite">
        {announcement.value}
      </p>
      {shortcutsOpen.value && <ShortcutsDialog onClose={() => (shortcutsOpen.value = false)} />}
    </div>
  );
}

function Content(): JSX.Element | null {
  switch (route.value.page) {
    case "approvals":
      return <ApprovalsPage />;
    case "usage":
      return <UsagePage />;
    case "policy":
      return <PolicyPage />;
    case "host":
      return <HostPage />;
    default: {
      const session = currentSession.value;
      if (session === null) return currentUser.value === null && connectionState.value === "broken" ? <p class="empty">The host does not respond. Retrying…</p> : null;
      const owner = foreignOwner(session.id);
      return (
        <>
          <MessageList session={session} />
          {owner === null ? (
            <Composer session={session} />
          ) : (
            <p class="read-only-hint">This conversation belongs to {toOneLine(owner, 60)}. You can watch it and decide its approvals.</p>
          )}
        </>
      );
    }
  }
}

/** Link to the approvals page, shown if another session has an open approval. */
function PendingApprovalsLink(): JSX.Element | null {
  const here = route.value.page === "session" ? route.value.id : "";
  const others = approvals.value.filter((each) => each.session_id !== here);
  if (others.length === 0 || route.value.page === "approvals") return null;
  return (
    <a class="pending-approvals" href={routeUrl({ page: "approvals" })}>
      {others.length === 1 ? "An approval is pending in another conversation" : `${others.length} approvals are pending in other conversations`}
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
      <span class="pulse waiting" aria-hidden="true" /> {currentUser.value === null ? "Connecting…" : "Reconnecting…"}
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
    <div class={current.isError ? "notice bad" : "notice"} role={current.isError ? "alert" : "status"}>
      <p>{toOneLine(current.text, 400)}</p>
      <IconButton icon="close" label="Dismiss" onClick={() => (notice.value = null)} />
    </div>
  );
}

const PAGE_TITLES = { approvals: "Approvals", usage: "Usage", policy: "Policy", host: "This host", new: "New conversation" };

function pageTitle(): string {
  const current = route.value;
  if (current.page !== "session") return PAGE_TITLES[current.page];
  return toOneLine(sessionTitle(current.id), 100);
}

function useDocumentTitle(): void {
  const waiting = approvals.value.length;
  const name = pageTitle();
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name} – Sophon`;
  }, [waiting, name]);
}
