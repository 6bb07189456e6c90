// The whole page: the list at the side, and what is chosen in it.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { announced, approvals, current, foreignOwner, keysShown, line, me, notice, signIn, titleOf } from "../model/app";
import { addressOf, route } from "../model/route";
import { onOneLine } from "../text/visible";
import { Composer } from "./composer";
import { HostPage } from "./host";
import { Inbox } from "./inbox";
import { Keys, useKeys } from "./keys";
import { IconButton } from "./parts";
import { Sidebar } from "./sidebar";
import { SignIn } from "./sign-in";
import { Thread } from "./thread";
import { SessionUsage, UsagePage } from "./usage";

export function Page(): JSX.Element | null {
  const [list, setList] = useState(false);
  useKeys((open) => (keysShown.value = open), setList);
  useTitle();
  if (signIn.value !== null) return <SignIn />;
  return (
    <div class={list ? "page listed" : "page"}>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        Skip to the content
      </a>
      <Sidebar onGone={() => setList(false)} />
      <div class="shade" onClick={() => setList(false)} />
      <main id="content" tabIndex={-1}>
        <header class="top">
          <IconButton icon="menu" label="Show the conversations" class="only-narrow" onClick={() => setList(true)} />
          <h1>
            <bdi>{title()}</bdi>
          </h1>
          {route.value.page === "session" && <SessionUsage />}
          <Line />
        </header>
        <Waiting />
        <Content />
      </main>
      <Notice />
      <p class="off-screen" role="status" aria-live="polite">
        {announced.value}
      </p>
      {keysShown.value && <Keys onClose={() => (keysShown.value = false)} />}
    </div>
  );
}

function Content(): JSX.Element | null {
  switch (route.value.page) {
    case "approvals":
      return <Inbox />;
    case "usage":
      return <UsagePage />;
    case "host":
      return <HostPage />;
    default: {
      const conversation = current.value;
      if (conversation === null) return me.value === null && line.value === "broken" ? <p class="empty">The host does not answer. This page tries again.</p> : null;
      const owner = foreignOwner(conversation.id);
      return (
        <>
          <Thread conversation={conversation} />
          {owner === null ? (
            <Composer conversation={conversation} />
          ) : (
            <p class="watching">This conversation belongs to {onOneLine(owner, 60)}. You can watch it and decide in it.</p>
          )}
        </>
      );
    }
  }
}

/** Elsewhere a decision is needed: one line that leads there. */
function Waiting(): JSX.Element | null {
  const here = route.value.page === "session" ? route.value.id : "";
  const others = approvals.value.filter((each) => each.session_id !== here);
  if (others.length === 0 || route.value.page === "approvals") return null;
  return (
    <a class="waiting-elsewhere" href={addressOf({ page: "approvals" })}>
      {others.length === 1 ? "A decision waits in another conversation" : `${others.length} decisions wait in other conversations`}
    </a>
  );
}

/** Only what is out of order is told, and only when it lasts. */
function Line(): JSX.Element | null {
  const [long, setLong] = useState(false);
  const broken = line.value !== "open";
  useEffect(() => {
    setLong(false);
    const timer = setTimeout(() => setLong(true), 800);
    return () => clearTimeout(timer);
  }, [broken]);
  if (!broken || !long) return null;
  return (
    <span class="line" role="status">
      <span class="pulse waiting" aria-hidden="true" /> {me.value === null ? "Connecting…" : "Reconnecting…"}
    </span>
  );
}

function Notice(): JSX.Element | null {
  const told = notice.value;
  useEffect(() => {
    if (told === null) return;
    const timer = setTimeout(() => (notice.value = null), told.bad ? 10_000 : 5_000);
    return () => clearTimeout(timer);
  }, [told]);
  if (told === null) return null;
  return (
    <div class={told.bad ? "notice bad" : "notice"} role={told.bad ? "alert" : "status"}>
      <p>{onOneLine(told.text, 400)}</p>
      <IconButton icon="close" label="Dismiss" onClick={() => (notice.value = null)} />
    </div>
  );
}

const PLACES = { approvals: "Decisions", usage: "Usage", host: "This host", new: "New conversation" };

function title(): string {
  const at = route.value;
  if (at.page !== "session") return PLACES[at.page];
  return onOneLine(titleOf(at.id), 100);
}

function useTitle(): void {
  const waiting = approvals.value.length;
  const name = title();
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name} – Sophon`;
  }, [waiting, name]);
}
