// Splitting of long text into portions of bounded work, which are rendered on demand.
import { splitBlocks } from "./markdown-blocks";

/** Elements that one portion may become, counted by the signs that make them. */
export const MAX_WEIGHT = 3000;

/** Characters of one portion; a single longer block is a portion of its own. */
const MAX_CHARACTERS = 400_000;

/** A sign that starts a block, row, cell or inline element; a fence makes a code block with its controls. */
const ELEMENT = /\n(?: {0,3}(?:`{3,}|~{3,}))?|[|*_~`[<@]|:\/\/|www\./giu;
const FENCE_WEIGHT = 15;

/** A part of a text; `plain` if it would be too many elements, so that it is shown as it was written. */
export interface Portion {
  text: string;
  plain: boolean;
}

/** Groups the blocks of a text into portions; joined they equal the text, and only the last one may still change. */
export function splitPortions(text: string): Portion[] {
  const portions: Portion[] = [];
  let last: Portion | undefined;
  let total = 0;
  for (const block of splitBlocks(text)) {
    const weight = weightOf(block);
    const fits = last !== undefined && total + weight <= MAX_WEIGHT && last.text.length + block.length <= MAX_CHARACTERS;
    if (last !== undefined && fits) {
      last.text += block;
      total += weight;
    } else {
      last = { text: block, plain: weight > MAX_WEIGHT };
      portions.push(last);
      total = weight;
    }
  }
  return portions;
}

/** Returns how many elements a block becomes at most; a fenced block is one, whatever it contains. */
function weightOf(block: string): number {
  if (isOneFence(block)) return FENCE_WEIGHT;
  let weight = 1;
  for (const [sign] of block.matchAll(ELEMENT)) weight += sign.length > 3 && sign.startsWith("\n") ? FENCE_WEIGHT : 1;
  return weight;
}

const OPENING = /^ {0,3}(`{3,}|~{3,})[^\n]*\n/u;

function isOneFence(block: string): boolean {
  const opening = OPENING.exec(block);
  if (opening === null) return false;
  const closing = block.indexOf(`\n${opening[1]}`, opening[0].length - 1);
  return closing < 0 || block.slice(closing + 1 + (opening[1] ?? "").length).trim() === "";
}
