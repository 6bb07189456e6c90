// Message list of a session, from the oldest loaded turn to the newest; stays scrolled to the end unless the user scrolls up.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { connectionState, currentUser, isOfflineOnly, reportErrors, sendQueue } from "../model/app-state";
import type { LiveSession } from "../model/live-session";
import { route, routeUrl } from "../model/router";
import { isFinished, type Turn } from "../model/turn-reducer";
import { countLastThatFill, estimateHeight } from "../model/turn-height";
import { rich, t } from "../text/translate";
import { ApiError } from "../wire/http-api";
import { Icon } from "./icons";
import { UserMessage } from "./user-message";
import { turnElementId } from "./turn";
import { TurnSlot } from "./turn-slot";
import { TurnWindow } from "./turn-window";
import { Welcome } from "./welcome";

/** Distance from the end in pixels that counts as being at the end. */
const END_TOLERANCE_PX = 80;

export function MessageList({ session }: { session: LiveSession }): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [scrolledAway, setScrolledAway] = useState(false);
  const atEnd = useRef(true);
  /** Where the page has left the list, or the user has scrolled it to. */
  const lastTop = useRef(0);
  const inputs = useRef(0);
  const noteInput = (): void => void inputs.current++;
  const turns = session.turns.value;
  const [turnWindow, setTurnWindow] = useState<TurnWindow | null>(null);
  const renderedAtFirst = turns.length - countLastThatFill(turns.map(({ turn, height }) => height || estimateHeight(turn)), innerHeight);
  const count = session.hasOlder.value ? -1 : turns.length;
  const pending = sendQueue.items.value.filter((item) => item.session === session.id && item.problem === "");

  useLayoutEffect(() => {
    const created = new TurnWindow(scroller.current!, atEnd);
    setTurnWindow(created);
    return () => created.disconnect();
  }, []);
  useLayoutEffect(() => {
    atEnd.current = true;
    setScrolledAway(false);
  }, [session]);
  useEffect(() => {
    const scrollToEnd = (): void => {
      if (!atEnd.current || !scroller.current || session.turns.value.length === 0) return; // a welcome is read from its top
      scroller.current.scrollTop = scroller.current.scrollHeight;
      lastTop.current = scroller.current.scrollTop;
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
  const first = useRef(turns[0]?.turn.id);
  const areOlderAdded = first.current !== turns[0]?.turn.id && turns.some(({ turn }) => turn.id === first.current);
  // Of the list as it is shown until now: the user may have scrolled while the older turns were loaded.
  const fromEnd = areOlderAdded && scroller.current !== null ? scroller.current.scrollHeight - scroller.current.scrollTop : 0;
  useLayoutEffect(() => {
    first.current = turns[0]?.turn.id;
    if (areOlderAdded && scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight - fromEnd;
  }, [turns]);
  const place = route.value;
  const isOpen = session.state.value === "open";
  useEffect(() => {
    const target = place.page === "session" && place.id === session.id ? place.at : undefined;
    if (target === undefined || !isOpen) return;
    let isGone = false;
    atEnd.current = false;
    void reportErrors(async () => {
      const live = await session.findTurn(target);
      if (isGone) return;
      if (live === undefined) throw new ApiError("not_found", t("This message is no longer in the conversation."));
      atEnd.current = false; // the page scrolled to the end meanwhile
      const before = inputs.current;
      pointAt(live.turn, target, () => isGone || inputs.current !== before);
    });
    return () => void (isGone = true);
  }, [session, place, isOpen]);
  const onScroll = (): void => {
    if (scroller.current === null) return; // the last event of a list that is gone
    const { scrollHeight, scrollTop, clientHeight } = scroller.current;
    // Whoever scrolls up leaves the end, by whatever means: a wheel, a key, the browser's search, a screen reader. The page
    // follows the end itself when elements get their real height, and then the list is where it has left it.
    if (scrollHeight - scrollTop - clientHeight < END_TOLERANCE_PX) atEnd.current = true;
    else if (scrollTop < lastTop.current - 1) atEnd.current = false;
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
    <>
      <div class="thread" ref={scroller} onScroll={onScroll} onWheel={noteInput} onTouchMove={noteInput} onPointerDown={noteInput} onKeyDown={noteInput}>
        <div class="column" ref={content} onClickCapture={onClick}>
          {isNew && session.state.value !== "failed" && <Welcome />}
          {session.state.value === "failed" && connectionState.value === "open" && <p class="empty">{t("This conversation cannot be opened.")}</p>}
          {session.hasOlder.value && <OlderMessages session={session} />}
          <div role={turns.length + pending.length > 0 ? "feed" : "group"} aria-label={t("Conversation")} aria-busy={session.state.value === "loading"}>
            {turns.map((live, index) => (
              <TurnSlot key={live.turn.id} live={live} session={session} window={turnWindow} shownAtFirst={index >= renderedAtFirst} isLast={index === turns.length - 1} position={index + 1} count={count} />
            ))}
            {pending.map((item) => (
              <article key={item.id} class="turn sending">
                <UserMessage text={item.text} attachments={item.attachments} />
                <p class="note quiet">{connectionState.value === "open" ? t("sending…") : t("will be sent after reconnecting")}</p>
              </article>
            ))}
          </div>
          {isOfflineOnly.value && turns.length === 1 && turns[0]?.version.value !== undefined && wasAnsweredHere(turns[0].turn) && <OfflineHint />}
        </div>
      </div>
      {/* Beside the scrolled messages, not above them, where it would cover their buttons. */}
      {scrolledAway && (
        <button type="button" class="to-end" onClick={jumpToEnd}>
          <Icon name="down" /> {t("To the end")}
        </button>
      )}
    </>
  );
}

/** An imported turn has no usage. */
function wasAnsweredHere(turn: Turn): boolean {
  return isFinished(turn) && turn.usage.input_tokens > 0;
}

/** Frames for which a message is held in its place, while the turns around it get their real heights. */
const REVEAL_FRAMES = 60;

/** Scrolls to a message, given its seq, outlines its turn and moves the focus there; the reader's own scrolling ends it. */
function pointAt(turn: Turn, seq: number, isOver: () => boolean): void {
  document.querySelector("[data-found]")?.removeAttribute("data-found");
  const isAnswer = turn.answerRecord > 0 && seq >= turn.answerRecord;
  let frames = 0;
  let held = 0;
  const hold = (): void => {
    const article = document.getElementById(turnElementId(turn.id));
    const message = article?.querySelector<HTMLElement>(isAnswer ? ".reply" : ".said");
    if (frames > 0 && isOver()) return;
    if (article && message) {
      held++;
      if (!article.hasAttribute("data-found")) {
        article.setAttribute("data-found", "");
        focusMessage(article, message);
      }
    }
    (message ?? article)?.scrollIntoView({ block: "start" }); // a turn that comes into view is rendered
    if (held < REVEAL_FRAMES && ++frames < 10 * REVEAL_FRAMES) requestAnimationFrame(hold);
  };
  requestAnimationFrame(hold);
}

/** Moves the focus to a message, so that screen readers go on from there, unless somebody switches branches with the keyboard. */
function focusMessage(article: HTMLElement, message: HTMLElement): void {
  if (article.querySelector(".branch-switch")?.contains(document.activeElement)) return;
  message.tabIndex = -1;
  message.focus({ preventScroll: true });
  message.addEventListener("blur", () => message.removeAttribute("tabindex"), { once: true });
}

function OfflineHint(): JSX.Element {
  return (
    <p class="note quiet">
      {currentUser.value?.operator
        ? rich("Answered by the offline model, which works by rules. {setup} takes a key for a real one.", { setup: <a href={routeUrl({ page: "setup" })}>{t("Set up a model")}</a> })
        : rich("Answered by the offline model, which works by rules. Set {first} or {second}, or start Ollama, and start the host again for a real one.", { first: <code>OPENAI_API_KEY</code>, second: <code>ANTHROPIC_API_KEY</code> })}
    </p>
  );
}

/** Button that loads older turns, automatically when it scrolls into view. */
function OlderMessages({ session }: { session: LiveSession }): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const [loading, setLoading] = useState(false);
  const load = async (): Promise<void> => {
    if (loading) return;
    setLoading(true);
    try {
      await session.loadOlder();
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
      {loading ? t("Loading earlier messages…") : t("Show earlier messages")}
    </button>
  );
}
