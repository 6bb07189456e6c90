// Search in the text of messages: the hits beside the list of conversations.
import { signal } from "@preact/signals";
import type { MessageHitView } from "../wire/types";
import { call } from "../wire/http-api";
import { searchMessages as search } from "../wire/operations";

/** A query of fewer characters searches titles only. */
const MIN_QUERY = 2;
/** Characters of a query that are sent; the host looks at no more. */
const MAX_QUERY = 1000;

/** Hits of the last search; null without one. */
export const hits = signal<readonly MessageHitView[] | null>(null);
/** Cursor of the page that follows the listed hits; null if all are listed. */
export const nextHits = signal<string | null>(null);
/** False while the host indexes messages of before it had an index. */
export const hitsAreComplete = signal(true);

let latest = 0;

/** Searches, unless another search begins meanwhile; with a cursor the hits are appended. */
export async function searchMessages(text: string, cursor?: string): Promise<void> {
  const number = ++latest;
  const query = text.trim().slice(0, MAX_QUERY);
  if (query.length < MIN_QUERY) {
    [hits.value, nextHits.value] = [null, null];
    return;
  }
  const found = await call(search, { q: query, cursor });
  if (number !== latest) return;
  hits.value = cursor === undefined ? found.items : [...(hits.value ?? []), ...found.items];
  nextHits.value = found.next_cursor;
  hitsAreComplete.value = found.complete;
}
