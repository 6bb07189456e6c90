// Sidebar: session list with search, and navigation.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { sessionActivity, approvals, foreignOwner, forkSession, shortcutsOpen, currentUser, startSession, deleteSession, listsArchived, loadMoreSessions, markSession, nextSessions, renameSession, exportSession, notice, searchText, sessions, signOut, sessionTitle } from "../model/app-state";
import { listPages, routeUrl, route, type Route } from "../model/router";
import { notificationsEnabled, toggleNotifications } from "../model/notifications";
import { nextTheme, theme, type Theme } from "../model/theme";
import { groupByDay } from "../text/day-groups";
import { formatAge } from "../text/format";
import { toOneLine } from "../text/escape-controls";
import { plural, t } from "../text/translate";
import { storedToken } from "../wire/token-storage";
import type { SessionView } from "../wire/types";
import { Icon, type IconName } from "./icons";
import { Dialog, IconButton } from "./controls";
import { ImportDialog } from "../features/imports/import-dialog";
import { MessageHits } from "./message-hits";
import { isHostPage } from "./operator-nav";
import { LanguageSelect } from "./language-select";
import { Menu } from "./menu";

export const SEARCH_ID = "search";

const THEME_LABELS: Record<Theme, () => string> = {
  auto: () => t("Colours: auto"),
  light: () => t("Colours: light"),
  dark: () => t("Colours: dark"),
};

export function Sidebar({ onGone: onClose }: { onGone: () => void }): JSX.Element {
  const items = sessions.value;
  const [isImporting, setImporting] = useState(false);
  const asks = approvals.value.length;
  const isFirst = (session: SessionView): boolean => session.pinned && !session.archived;
  const pinned = (items ?? []).filter(isFirst);
  const groups = [
    ...(pinned.length > 0 ? [{ label: t("Pinned"), items: pinned }] : []),
    ...groupByDay((items ?? []).filter((session) => !isFirst(session)), (session) => session.updated_at),
  ];
  return (
    <nav class="sidebar" aria-label={t("Conversations")} onClick={(event) => (event.target as Element).closest("a, .new") && onClose()}>
      <header>
        <a class="brand" href="#/">
          <img src="/assets/icon.svg" alt="" width="22" height="22" /> Sophon
        </a>
        <IconButton icon="close" label={t("Close the sidebar")} class="only-narrow" onClick={onClose} />
      </header>
      <button type="button" class="new" onClick={startSession}>
        <Icon name="plus" /> {t("New conversation")}
      </button>
      <label class="search">
        <Icon name="search" />
        <span class="off-screen">{t("Search conversations")}</span>
        <input id={SEARCH_ID} type="search" placeholder={t("Search")} maxLength={1000} value={searchText.value} onInput={(event) => (searchText.value = event.currentTarget.value)} />
      </label>
      <div class="sessions" onScroll={closeMenus}>
        {groups.map(({ label, items: ofGroup }) => (
          <ul key={label} aria-label={label}>
            <li class="day" aria-hidden="true">{label}</li>
            {ofGroup.map((session) => (
              <SessionEntry key={session.session_id} session={session} />
            ))}
          </ul>
        ))}
        {nextSessions.value !== null && (
          <button type="button" class="quiet" onClick={() => void loadMoreSessions()}>{t("Show more")}</button>
        )}
        {items?.length === 0 && <p class="empty">{searchText.value ? t("No matching conversations.") : listsArchived.value ? t("Nothing is archived.") : t("No conversations yet.")}</p>}
        {searchText.value !== "" && <MessageHits />}
      </div>
      <button type="button" class="quiet archive" aria-pressed={listsArchived.value} onClick={() => (listsArchived.value = !listsArchived.value)}>
        {listsArchived.value ? t("Back to all conversations") : t("Archive")}
      </button>
      <button type="button" class="quiet archive" onClick={() => setImporting(true)}>{t("Import conversations")}</button>
      {isImporting && <ImportDialog onClose={() => setImporting(false)} />}
      <ul class="nav-links">
        {listPages().map(({ name, title, icon }) => icon !== null && <NavLink key={name} to={{ page: name }} icon={icon} label={title()} count={name === "approvals" ? asks : 0} />)}
      </ul>
      <footer>
        <span class="user-name">{currentUser.value && toOneLine(currentUser.value.user, 30)}</span>
        <LanguageSelect />
        <IconButton icon={theme.value === "auto" ? "auto" : theme.value === "light" ? "sun" : "moon"} label={THEME_LABELS[theme.value]()} onClick={nextTheme} />
        <IconButton icon="bell" label={t("Notifications")} pressed={notificationsEnabled.value} onClick={() => void toggleNotifications().then((problem) => problem !== null && (notice.value = { text: problem, isError: true }))} />
        <IconButton icon="keys" label={t("Keyboard shortcuts")} onClick={() => (shortcutsOpen.value = true)} />
        {storedToken() !== "" && <IconButton icon="leave" label={t("Sign out")} onClick={signOut} />}
      </footer>
    </nav>
  );
}

function closeMenus(event: Event): void {
  for (const menu of (event.currentTarget as Element).querySelectorAll<HTMLDetailsElement>("details[open]")) menu.open = false;
}

function NavLink(props: { to: Route; icon: IconName; label: string; count?: number }): JSX.Element {
  return (
    <li>
      <a href={routeUrl(props.to)} aria-current={route.value.page === props.to.page || (props.to.page === "host" && isHostPage(route.value.page)) ? "page" : undefined}>
        <Icon name={props.icon} /> {props.label}
        {props.count ? <span class="badge" aria-label={plural(props.count, "{count} open approval", "{count} open approvals")}>{props.count}</span> : null}
      </a>
    </li>
  );
}

function SessionEntry({ session }: { session: SessionView }): JSX.Element {
  const id = session.session_id;
  const here = route.value.page === "session" && route.value.id === id;
  const asks = approvals.value.some((each) => each.session_id === id);
  const state = asks ? "waiting" : sessionActivity.value.get(id);
  const owner = foreignOwner(id);
  const title = toOneLine(sessionTitle(id), 80);
  return (
    <li class={here ? "session here" : "session"}>
      <a href={routeUrl({ page: "session", id })} aria-current={here ? "page" : undefined} title={title}>
        <bdi class="title" lang="">
          {title}
          {owner !== null && <span class="owner"> · {toOneLine(owner, 30)}</span>}
        </bdi>
        {state ? <span class={`state ${state}`} title={state === "waiting" ? t("waiting for approval") : t("running")} role="img" aria-label={state === "waiting" ? t("waiting for approval") : t("running")} /> : <time>{formatAge(session.updated_at)}</time>}
      </a>
      <SessionMenu session={session} title={title} />
    </li>
  );
}

type OpenDialog = "rename" | "delete" | null;

function SessionMenu({ session, title }: { session: SessionView; title: string }): JSX.Element {
  const [openDialog, setOpenDialog] = useState<OpenDialog>(null);
  const id = session.session_id;
  return (
    <>
      <Menu
        label={t("More for {title}", { title })}
        actions={() => [
          { label: t("Rename…"), run: () => setOpenDialog("rename") },
          { label: t("Make a copy"), run: () => void forkSession(id) },
          { label: session.pinned ? t("Unpin") : t("Pin"), run: () => void markSession(id, { pinned: !session.pinned }) },
          { label: session.archived ? t("Unarchive") : t("Move to the archive"), run: () => void markSession(id, { archived: !session.archived }) },
          { label: t("Save as Markdown"), run: () => void exportSession(id, "markdown") },
          { label: t("Save as JSON"), run: () => void exportSession(id, "json") },
          { label: t("Delete…"), run: () => setOpenDialog("delete"), isDangerous: true },
        ]}
      />
      {openDialog === "rename" && <RenameDialog session={session} onClose={() => setOpenDialog(null)} />}
      {openDialog === "delete" && (
        <Dialog title={t("Delete this conversation?")} onClose={() => setOpenDialog(null)}>
          <p>{t("“{title}” and all its messages will be deleted. Running turns are cancelled.", { title })}</p>
          <div class="buttons">
            <button type="button" class="danger" onClick={() => (setOpenDialog(null), void deleteSession(id))}>{t("Delete")}</button>
            <button type="button" onClick={() => setOpenDialog(null)}>{t("Cancel")}</button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function RenameDialog({ session, onClose }: { session: SessionView; onClose: () => void }): JSX.Element {
  const [title, setTitle] = useState(session.title);
  return (
    <Dialog title={t("Rename")} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (title.trim() !== "") void renameSession(session.session_id, title.trim());
          onClose();
        }}
      >
        <label>
          {t("Title")}
          <input value={title} maxLength={200} onInput={(event) => setTitle(event.currentTarget.value)} autofocus />
        </label>
        <div class="buttons">
          <button type="submit" class="primary" disabled={title.trim() === ""}>{t("Rename")}</button>
          <button type="button" onClick={onClose}>{t("Cancel")}</button>
        </div>
      </form>
    </Dialog>
  );
}
