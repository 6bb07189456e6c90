// Hits of the search in messages, below the conversations whose titles match.
import type { JSX } from "preact";
import { searchText, reportErrors } from "../model/app-state";
import { hits, hitsAreComplete, nextHits, searchMessages } from "../model/message-search";
import { navigate, routeUrl } from "../model/router";
import { toOneLine } from "../text/escape-controls";
import { formatAge } from "../text/format";
import { t } from "../text/translate";
import type { MessageHitView } from "../wire/types";

export function MessageHits(): JSX.Element | null {
  const found = hits.value;
  if (found === null) return null;
  return (
    <>
      <ul aria-label={t("Messages")}>
        <li class="day" aria-hidden="true">{t("Messages")}</li>
        {found.map((hit) => (
          <Hit key={hit.message_id} hit={hit} />
        ))}
      </ul>
      {found.length === 0 && <p class="empty">{t("No matching messages.")}</p>}
      {!hitsAreComplete.value && <p class="empty" role="status">{t("Older messages are still being indexed.")}</p>}
      {nextHits.value !== null && (
        <button type="button" class="quiet" onClick={() => void reportErrors(() => searchMessages(searchText.value, nextHits.value ?? undefined))}>{t("More messages")}</button>
      )}
    </>
  );
}

function Hit({ hit }: { hit: MessageHitView }): JSX.Element {
  const place = { page: "session", id: hit.session_id, at: hit.seq } as const;
  const onClick = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window
    event.preventDefault();
    navigate(place); // also to the same place again
  };
  return (
    <li class="session hit">
      <a href={routeUrl(place)} onClick={onClick}>
        <span class="hit-title">
          <bdi lang="">{toOneLine(hit.title || t("Conversation"), 60)}</bdi> <time dateTime={hit.at}>{formatAge(hit.at)}</time>
        </span>
        <span class="snippet" dir="auto" lang="">
          {hit.snippet.map((part, index) => (part.match ? <mark key={index}>{toOneLine(part.text, 200)}</mark> : toSpaced(part.text)))}
        </span>
      </a>
    </li>
  );
}

/** The text in one line with the spaces at its ends, which separate it from what is marked. */
function toSpaced(text: string): string {
  return `${/^\s/u.test(text) ? " " : ""}${toOneLine(text, 400)}${/\S\s$/u.test(text) ? " " : ""}`;
}
