// A conversation from its oldest turn that is loaded to the newest; it stays at the end while somebody is there.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { line, offlineOnly, outbox } from "../model/app";
import type { Conversation } from "../model/conversation";
import { isOver } from "../model/turn";
import { Icon } from "./icons";
import { Said } from "./said";
import { TurnView } from "./turn";
import { Welcome } from "./welcome";

/** Pixels from the end within which one is at the end. */
const NEAR = 80;

/** Milliseconds after a wheel, a finger, the mouse or a key within which a movement is that person's. */
const BY_HAND_MS = 1_500;

export function Thread({ conversation }: { conversation: Conversation }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [away, setAway] = useState(false);
  const atEnd = useRef(true);
  const lastTop = useRef(0);
  const touched = useRef(-Infinity);
  const touch = (): void => void (touched.current = performance.now());
  const turns = conversation.turns.value;
  const underway = outbox.items.value.filter((item) => item.session === conversation.id && item.problem === "");

  useLayoutEffect(() => {
    atEnd.current = true;
    setAway(false);
  }, [conversation]);
  useEffect(() => {
    const toEnd = (): void => {
      if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
    };
    const observer = new ResizeObserver(toEnd);
    if (content.current) observer.observe(content.current);
    if (box.current) observer.observe(box.current);
    toEnd();
    return () => observer.disconnect();
  }, [conversation]);
  useEffect(() => {
    if (underway.length > 0) toEnd(); // whoever sends something wants to see what becomes of it
  }, [underway.length]);
  const scrolled = (): void => {
    const { scrollHeight, scrollTop, clientHeight } = box.current!;
    // Only a person leaves the end. The page moves by itself, too: what comes into sight gets its real height.
    const byHand = performance.now() - touched.current < BY_HAND_MS;
    if (scrollHeight - scrollTop - clientHeight < NEAR) atEnd.current = true;
    else if (byHand && scrollTop < lastTop.current) atEnd.current = false;
    lastTop.current = scrollTop;
    setAway(!atEnd.current);
  };
  const toEnd = (): void => {
    atEnd.current = true;
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  /** Whoever unfolds something reads there: it stays where it is. */
  const pressed = (event: Event): void => {
    if (event.target instanceof Element && event.target.closest("summary, [aria-expanded]")) atEnd.current = false;
  };
  const isNew = turns.length === 0 && underway.length === 0 && conversation.state.value !== "loading";
  return (
    <div class="thread" ref={box} onScroll={scrolled} onWheel={touch} onTouchMove={touch} onPointerDown={touch} onKeyDown={touch}>
      <div class="column" ref={content} onClickCapture={pressed}>
        {isNew && conversation.state.value !== "failed" && <Welcome />}
        {conversation.state.value === "failed" && line.value === "open" && <p class="empty">This conversation cannot be opened.</p>}
        {conversation.older.value && <Older conversation={conversation} box={box} />}
        <div role="log" aria-label="Conversation" aria-live="off">
          {turns.map((live) => (
            <TurnView key={live.turn.id} live={live} />
          ))}
          {underway.map((item) => (
            <article key={item.id} class="turn sending">
              <Said text={item.text} />
              <p class="note quiet">{line.value === "open" ? "on its way…" : "will be sent when the host is back"}</p>
            </article>
          ))}
        </div>
        {offlineOnly.value && turns.length === 1 && turns[0]?.version.value !== undefined && isOver(turns[0].turn) && <OfflineLine />}
      </div>
      {away && (
        <button type="button" class="to-end" onClick={toEnd}>
          <Icon name="down" /> To the end
        </button>
      )}
    </div>
  );
}

function OfflineLine(): JSX.Element {
  return (
    <p class="note quiet">
      Answered by the offline model, which works by rules. Set <code>OPENAI_API_KEY</code> or <code>ANTHROPIC_API_KEY</code>, or start Ollama, and
      start the host again for a real one.
    </p>
  );
}

/** Loads what is before, by itself when it comes into sight; what is read stays where it is. */
function Older({ conversation, box }: { conversation: Conversation; box: { current: HTMLDivElement | null } }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const [loading, setLoading] = useState(false);
  const load = async (): Promise<void> => {
    if (loading) return;
    setLoading(true);
    const scroller = box.current;
    const fromEnd = scroller ? scroller.scrollHeight - scroller.scrollTop : 0;
    try {
      await conversation.loadOlder();
      requestAnimationFrame(() => {
        if (scroller) scroller.scrollTop = scroller.scrollHeight - fromEnd;
      });
    } catch {
      // The button stays, to be pressed again.
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
