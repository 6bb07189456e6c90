// The conversations at the side, and the ways to the other pages.
import { useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { active, approvals, foreignOwner, fork, keysShown, me, newSession, remove, rename, save, search, sessions, signOut, titleOf } from "../model/app";
import { addressOf, route, type Route } from "../model/route";
import { nextTheme, theme } from "../model/theme";
import { ago, plural } from "../text/format";
import { onOneLine } from "../text/visible";
import { storedToken } from "../wire/token";
import type { Session } from "../wire/protocol";
import { Icon, type IconName } from "./icons";
import { Dialog, IconButton } from "./parts";

export const SEARCH = "search";

export function Sidebar({ onGone }: { onGone: () => void }): JSX.Element {
  const found = sessions.value;
  const asks = approvals.value.length;
  return (
    <nav class="sidebar" aria-label="Conversations" onClick={(event) => (event.target as Element).closest("a, .new") && onGone()}>
      <header>
        <a class="brand" href="#/">
          <img src="/assets/icon.svg" alt="" width="22" height="22" /> Sophon
        </a>
        <IconButton icon="close" label="Close the list" class="only-narrow" onClick={onGone} />
      </header>
      <button type="button" class="new" onClick={newSession}>
        <Icon name="plus" /> New conversation
      </button>
      <label class="search">
        <Icon name="search" />
        <span class="off-screen">Search conversations</span>
        <input id={SEARCH} type="search" placeholder="Search" value={search.value} onInput={(event) => (search.value = event.currentTarget.value)} />
      </label>
      <ul class="sessions">
        {found?.map((session) => (
          <Entry key={session.session_id} session={session} />
        ))}
      </ul>
      {found?.length === 0 && <p class="empty">{search.value ? "Nothing is called that." : "Conversations will be here."}</p>}
      <ul class="places">
        <Place to={{ page: "approvals" }} icon="inbox" label="Decisions" count={asks} />
        <Place to={{ page: "usage" }} icon="chart" label="Usage" />
        <Place to={{ page: "host" }} icon="host" label="This host" />
      </ul>
      <footer>
        <span class="who">{me.value && onOneLine(me.value.user, 30)}</span>
        <IconButton icon={theme.value === "auto" ? "auto" : theme.value === "light" ? "sun" : "moon"} label={`Colours: ${theme.value}`} onClick={nextTheme} />
        <IconButton icon="keys" label="Keys" onClick={() => (keysShown.value = true)} />
        {storedToken() !== "" && <IconButton icon="leave" label="Sign out" onClick={signOut} />}
      </footer>
    </nav>
  );
}

function Place(props: { to: Route; icon: IconName; label: string; count?: number }): JSX.Element {
  return (
    <li>
      <a href={addressOf(props.to)} aria-current={route.value.page === props.to.page ? "page" : undefined}>
        <Icon name={props.icon} /> {props.label}
        {props.count ? <span class="badge" aria-label={plural(props.count, "open decision")}>{props.count}</span> : null}
      </a>
    </li>
  );
}

function Entry({ session }: { session: Session }): JSX.Element {
  const id = session.session_id;
  const here = route.value.page === "session" && route.value.id === id;
  const asks = approvals.value.some((each) => each.session_id === id);
  const state = asks ? "waiting" : active.value.get(id);
  const owner = foreignOwner(id);
  const title = onOneLine(titleOf(id), 80);
  return (
    <li class={here ? "session here" : "session"}>
      <a href={addressOf({ page: "session", id })} aria-current={here ? "page" : undefined} title={title}>
        <bdi class="title">
          {title}
          {owner !== null && <span class="owner"> · {onOneLine(owner, 30)}</span>}
        </bdi>
        {state ? <span class={`state ${state}`} title={state === "waiting" ? "waits for a decision" : "works"} role="img" aria-label={state === "waiting" ? "waits for a decision" : "works"} /> : <time>{ago(session.updated_at)}</time>}
      </a>
      <Menu session={session} title={title} />
    </li>
  );
}

type Asked = "rename" | "delete" | null;

function Menu({ session, title }: { session: Session; title: string }): JSX.Element {
  const [asked, setAsked] = useState<Asked>(null);
  const menu = useRef<HTMLDetailsElement>(null);
  const pick = (what: () => void) => (): void => {
    if (menu.current) menu.current.open = false;
    what();
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
          <button type="button" onClick={pick(() => setAsked("rename"))}>Rename…</button>
          <button type="button" onClick={pick(() => void fork(id))}>Make a copy</button>
          <button type="button" onClick={pick(() => void save(id, "markdown"))}>Save as Markdown</button>
          <button type="button" onClick={pick(() => void save(id, "json"))}>Save as JSON</button>
          <button type="button" class="danger" onClick={pick(() => setAsked("delete"))}>Delete…</button>
        </div>
      </details>
      {asked === "rename" && <Rename session={session} onClose={() => setAsked(null)} />}
      {asked === "delete" && (
        <Dialog title="Delete this conversation?" onClose={() => setAsked(null)}>
          <p>“{title}” and all that was said in it will be gone. What runs in it is stopped.</p>
          <div class="buttons">
            <button type="button" class="danger" onClick={() => (setAsked(null), void remove(id))}>Delete</button>
            <button type="button" onClick={() => setAsked(null)}>Keep</button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Rename({ session, onClose }: { session: Session; onClose: () => void }): JSX.Element {
  const [title, setTitle] = useState(session.title);
  return (
    <Dialog title="Rename" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (title.trim() !== "") void rename(session.session_id, title.trim());
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
