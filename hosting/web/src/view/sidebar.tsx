// Sidebar: session list with search, and navigation.
import { useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { sessionActivity, approvals, foreignOwner, forkSession, shortcutsOpen, currentUser, startSession, deleteSession, loadMoreSessions, nextSessions, renameSession, exportSession, searchText, sessions, signOut, sessionTitle } from "../model/app-state";
import { routeUrl, route, type Route } from "../model/router";
import { nextTheme, theme } from "../model/theme";
import { formatAge, formatCount } from "../text/format";
import { toOneLine } from "../text/escape-controls";
import { storedToken } from "../wire/token-storage";
import type { SessionSummary } from "../wire/protocol";
import { Icon, type IconName } from "./icons";
import { Dialog, IconButton } from "./controls";

export const SEARCH_ID = "search";

export function Sidebar({ onGone: onClose }: { onGone: () => void }): JSX.Element {
  const items = sessions.value;
  const asks = approvals.value.length;
  return (
    <nav class="sidebar" aria-label="Conversations" onClick={(event) => (event.target as Element).closest("a, .new") && onClose()}>
      <header>
        <a class="brand" href="#/">
          <img src="/assets/icon.svg" alt="" width="22" height="22" /> Sophon
        </a>
        <IconButton icon="close" label="Close the sidebar" class="only-narrow" onClick={onClose} />
      </header>
      <button type="button" class="new" onClick={startSession}>
        <Icon name="plus" /> New conversation
      </button>
      <label class="search">
        <Icon name="search" />
        <span class="off-screen">Search conversations</span>
        <input id={SEARCH_ID} type="search" placeholder="Search" value={searchText.value} onInput={(event) => (searchText.value = event.currentTarget.value)} />
      </label>
      <ul class="sessions">
        {items?.map((session) => (
          <SessionEntry key={session.session_id} session={session} />
        ))}
        {nextSessions.value !== null && (
          <li>
            <button type="button" class="quiet" onClick={() => void loadMoreSessions()}>Show more</button>
          </li>
        )}
      </ul>
      {items?.length === 0 && <p class="empty">{searchText.value ? "No matching conversations." : "No conversations yet."}</p>}
      <ul class="nav-links">
        <NavLink to={{ page: "approvals" }} icon="inbox" label="Approvals" count={asks} />
        <NavLink to={{ page: "usage" }} icon="chart" label="Usage" />
        <NavLink to={{ page: "policy" }} icon="shield" label="Policy" />
        <NavLink to={{ page: "host" }} icon="host" label="This host" />
      </ul>
      <footer>
        <span class="user-name">{currentUser.value && toOneLine(currentUser.value.user, 30)}</span>
        <IconButton icon={theme.value === "auto" ? "auto" : theme.value === "light" ? "sun" : "moon"} label={`Colours: ${theme.value}`} onClick={nextTheme} />
        <IconButton icon="keys" label="Keyboard shortcuts" onClick={() => (shortcutsOpen.value = true)} />
        {storedToken() !== "" && <IconButton icon="leave" label="Sign out" onClick={signOut} />}
      </footer>
    </nav>
  );
}

function NavLink(props: { to: Route; icon: IconName; label: string; count?: number }): JSX.Element {
  return (
    <li>
      <a href={routeUrl(props.to)} aria-current={route.value.page === props.to.page ? "page" : undefined}>
        <Icon name={props.icon} /> {props.label}
        {props.count ? <span class="badge" aria-label={formatCount(props.count, "open approval")}>{props.count}</span> : null}
      </a>
    </li>
  );
}

function SessionEntry({ session }: { session: SessionSummary }): JSX.Element {
  const id = session.session_id;
  const here = route.value.page === "session" && route.value.id === id;
  const asks = approvals.value.some((each) => each.session_id === id);
  const state = asks ? "waiting" : sessionActivity.value.get(id);
  const owner = foreignOwner(id);
  const title = toOneLine(sessionTitle(id), 80);
  return (
    <li class={here ? "session here" : "session"}>
      <a href={routeUrl({ page: "session", id })} aria-current={here ? "page" : undefined} title={title}>
        <bdi class="title">
          {title}
          {owner !== null && <span class="owner"> · {toOneLine(owner, 30)}</span>}
        </bdi>
        {state ? <span class={`state ${state}`} title={state === "waiting" ? "waiting for approval" : "running"} role="img" aria-label={state === "waiting" ? "waiting for approval" : "running"} /> : <time>{formatAge(session.updated_at)}</time>}
      </a>
      <SessionMenu session={session} title={title} />
    </li>
  );
}

type OpenDialog = "rename" | "delete" | null;

function SessionMenu({ session, title }: { session: SessionSummary; title: string }): JSX.Element {
  const [openDialog, setOpenDialog] = useState<OpenDialog>(null);
  const menu = useRef<HTMLDetailsElement>(null);
  const closeMenuThen = (action: () => void) => (): void => {
    if (menu.current) menu.current.open = false;
    action();
  };
  const id = session.session_id;
  return (
    <>
      <details
        class="menu"
        ref={menu}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !menu.current?.open) return;
          menu.current.open = false;
          menu.current.querySelector("summary")?.focus();
        }}
        onFocusOut={(event) => {
          if (menu.current && !menu.current.contains(event.relatedTarget as Node | null)) menu.current.open = false;
        }}
      >
        <summary aria-label={`More for ${title}`} title="More">
          <Icon name="more" />
        </summary>
        <div class="choices">
          <button type="button" onClick={closeMenuThen(() => setOpenDialog("rename"))}>Rename…</button>
          <button type="button" onClick={closeMenuThen(() => void forkSession(id))}>Make a copy</button>
          <button type="button" onClick={closeMenuThen(() => void exportSession(id, "markdown"))}>Save as Markdown</button>
          <button type="button" onClick={closeMenuThen(() => void exportSession(id, "json"))}>Save as JSON</button>
          <button type="button" class="danger" onClick={closeMenuThen(() => setOpenDialog("delete"))}>Delete…</button>
        </div>
      </details>
      {openDialog === "rename" && <RenameDialog session={session} onClose={() => setOpenDialog(null)} />}
      {openDialog === "delete" && (
        <Dialog title="Delete this conversation?" onClose={() => setOpenDialog(null)}>
          <p>“{title}” and all its messages will be deleted. Running turns are cancelled.</p>
          <div class="buttons">
            <button type="button" class="danger" onClick={() => (setOpenDialog(null), void deleteSession(id))}>Delete</button>
            <button type="button" onClick={() => setOpenDialog(null)}>Cancel</button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function RenameDialog({ session, onClose }: { session: SessionSummary; onClose: () => void }): JSX.Element {
  const [title, setTitle] = useState(session.title);
  return (
    <Dialog title="Rename" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (title.trim() !== "") void renameSession(session.session_id, title.trim());
          onClose();
        }}
      >
        <label>
          Title
          <input value={title} maxLength={200} onInput={(event) => setTitle(event.currentTarget.value)} autofocus />
        </label>
        <div class="buttons">
          <button type="submit" class="primary" disabled={title.trim() === ""}>Rename</button>
          <button type="button" onClick={onClose}>Cancel</button>
        </div>
      </form>
    </Dialog>
  );
}
