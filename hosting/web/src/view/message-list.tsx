// Message list of a session, from the oldest loaded turn to the newest; stays scrolled to the end unless the user scrolls up.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { connectionState, isOfflineOnly, sendQueue } from "../model/app-state";
import type { LiveSession } from "../model/live-session";
import { isFinished } from "../model/turn-reducer";
import { Icon } from "./icons";
import { UserMessage } from "./user-message";
import { TurnView } from "./turn";
import { Welcome } from "./welcome";

/** Distance from the end in pixels that counts as being at the end. */
const END_TOLERANCE_PX = 80;

/** Milliseconds after user input during which scrolling counts as the user's. */
const USER_SCROLL_MS = 1_500;

export function MessageList({ session }: { session: LiveSession }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [scrolledAway, setScrolledAway] = useState(false);
  const atEnd = useRef(true);
  const lastTop = useRef(0);
  const lastInput = useRef(-Infinity);
  const noteInput = (): void => void (lastInput.current = performance.now());
  const turns = session.turns.value;
  const pending = sendQueue.items.value.filter((item) => item.session === session.id && item.problem === "");

  useLayoutEffect(() => {
    atEnd.current = true;
    setScrolledAway(false);
  }, [session]);
  useEffect(() => {
    const scrollToEnd = (): void => {
      if (atEnd.current && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
    };
    const observer = new ResizeObserver(scrollToEnd);
    if (content.current) observer.observe(content.current);
    if (scroller.current) observer.observe(scroller.current);
    scrollToEnd();
    return () => observer.disconnect();
  }, [session]);
  useEffect(() => {
    if (pending.length > 0) jumpToEnd(); // show a message that was just sent
  }, [pending.length]);
  const onScroll = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = scroller.current!;
    // Only the user's scrolling leaves the end; the page also scrolls when elements get their real height.
    const byUser = performance.now() - lastInput.current < USER_SCROLL_MS;
    if (scrollHeight - scrollTop - clientHeight < END_TOLERANCE_PX) atEnd.current = true;
    else if (byUser && scrollTop < lastTop.current) atEnd.current = false;
    lastTop.current = scrollTop;
    setScrolledAway(!atEnd.current);
  };
  const jumpToEnd = (): void => {
    atEnd.current = true;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  /** Stops following the end when the user expands something. */
  const onClick = (event: Event): void => {
    if (event.target instanceof Element && event.target.closest("summary, [aria-expanded]")) atEnd.current = false;
  };
  const isNew = turns.length === 0 && pending.length === 0 && session.state.value !== "loading";
  return (
    <div class="thread" ref={scroller} onScroll={onScroll} onWheel={noteInput} onTouchMove={noteInput} onPointerDown={noteInput} onKeyDown={noteInput}>
      <div class="column" ref={content} onClickCapture={onClick}>
        {isNew && session.state.value !== "failed" && <Welcome />}
        {session.state.value === "failed" && connectionState.value === "open" && <p class="empty">This conversation cannot be opened.</p>}
        {session.hasOlder.value && <OlderMessages session={session} scroller={scroller} />}
        <div role="log" aria-label="Conversation" aria-live="off">
          {turns.map((live) => (
            <TurnView key={live.turn.id} live={live} />
          ))}
          {pending.map((item) => (
            <article key={item.id} class="turn sending">
              <UserMessage text={item.text} />
              <p class="note quiet">{connectionState.value === "open" ? "sending…" : "will be sent after reconnecting"}</p>
            </article>
          ))}
        </div>
        {isOfflineOnly.value && turns.length === 1 && turns[0]?.version.value !== undefined && isFinished(turns[0].turn) && <OfflineHint />}
      </div>
      {scrolledAway && (
        <button type="button" class="to-end" onClick={jumpToEnd}>
          <Icon name="down" /> To the end
        </button>
      )}
    </div>
  );
}

function OfflineHint(): JSX.Element {
  return (
    <p class="note quiet">
      Answered by the offline model, which works by rules. Set <code>OPENAI_API_KEY</code> or <code>ANTHROPIC_API_KEY</code>, or start Ollama, and
      start the host again for a real one.
    </p>
  );
}

/** Button that loads older turns, automatically when it scrolls into view; keeps the scroll position. */
function OlderMessages({ session, scroller }: { session: LiveSession; scroller: { current: HTMLDivElement | null } }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const [loading, setLoading] = useState(false);
  const load = async (): Promise<void> => {
    if (loading) return;
    setLoading(true);
    const element = scroller.current;
    const fromEnd = element ? element.scrollHeight - element.scrollTop : 0;
    try {
      await session.loadOlder();
      requestAnimationFrame(() => {
        if (element) element.scrollTop = element.scrollHeight - fromEnd;
      });
    } catch {
      // The button remains, for another attempt.
    } finally {
      setLoading(false);
    }
  };
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void load());
    if (button.current) observer.observe(button.current);
    return () => observer.disconnect();
  });
  return (
    <button type="button" class="quiet older" ref={button} onClick={() => void load()} disabled={loading}>
      {loading ? "Loading earlier messages…" : "Show earlier messages"}
    </button>
  );
}
