// The place of one turn in the message list: the turn itself, or far out of sight an element of its height with its text.
import { memo } from "preact/compat";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import type { LiveSession, LiveTurn } from "../model/live-session";
import { estimateHeight, searchedText } from "../model/turn-height";
import { turnElementId, TurnView } from "./turn";
import type { TurnWindow } from "./turn-window";

interface TurnSlotProps {
  live: LiveTurn;
  session: LiveSession;
  window: TurnWindow | null;
  /** Whether the turn is rendered at first, before it is known what is visible. */
  shownAtFirst: boolean;
  isLast: boolean;
  /** Number in the list, from 1, and how many there are; -1 if not all are loaded. */
  position: number;
  count: number;
}

export const TurnSlot = memo(function TurnSlot({ live, session, window, shownAtFirst, isLast, position, count }: TurnSlotProps): JSX.Element {
  const [isShown, show] = useState(shownAtFirst);
  const isFound = useRef(false);
  const showFound = (): void => {
    isFound.current = true;
    show(true);
  };
  useLayoutEffect(() => {
    const element = document.getElementById(turnElementId(live.turn.id));
    if (element === null || window === null) return undefined;
    if (!isShown) element.addEventListener("beforematch", showFound);
    if (isFound.current) window.reveal(element);
    isFound.current = false;
    return window.observe(element, { live, isLast, show });
  }, [window, live, isLast, isShown]);
  if (isShown || isLast) return <TurnView live={live} session={session} position={position} count={count} />;
  live.height ||= estimateHeight(live.turn);
  return (
    // The browser's search finds text that is hidden so, and says where it is before it goes there.
    <div class="distant-turn" id={turnElementId(live.turn.id)} hidden="until-found" style={{ height: `${live.height}px` }}>
      {searchedText(live.turn)}
    </div>
  );
});
