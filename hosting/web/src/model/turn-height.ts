// What stands for a turn that is far out of sight: an estimate of its height, and its text for the browser's search.
import { fullText, type Turn } from "./turn-reducer";

/** Characters of a turn that the browser's search finds while the turn is not rendered. */
const MAX_SEARCHED_CHARACTERS = 20_000;
const LINE_PX = 25;
const CHARACTERS_PER_LINE = 88;
/** Height of a turn without any text: the bubble, the rows of buttons and the space below. */
const FRAME_PX = 130;
/** Pixels of a tool call, a note, or another line of a finished turn. */
const ITEM_PX = 34;

/** Estimates the height of a turn that was never rendered; a long text shows only its beginning. */
export function estimateHeight(turn: Turn): number {
  const items = turn.items.filter((item) => item.kind !== "note").length;
  return FRAME_PX + items * ITEM_PX + (countLines(turn.text) + countLines(turn.answer)) * LINE_PX;
}

/** The message and the answer as plain text, cut. */
export function searchedText(turn: Turn): string {
  return `${turn.text}\n${fullText(turn)}`.slice(0, MAX_SEARCHED_CHARACTERS);
}

function countLines(text: string): number {
  let lines = 0;
  for (const line of text.slice(0, MAX_SEARCHED_CHARACTERS).split("\n")) lines += Math.ceil(line.length / CHARACTERS_PER_LINE);
  return lines;
}

/** How many of the last heights fill a space, at least one. */
export function countLastThatFill(heights: readonly number[], space: number): number {
  let count = 0;
  for (let filled = 0; count < heights.length && (filled < space || count === 0); count++) filled += heights[heights.length - 1 - count] ?? 0;
  return count;
}
