// Router: the current route in the URL hash, so that back, reload and bookmarks work.
import { signal } from "@preact/signals";
import type { Page } from "./page";

/** The pages beside the conversations. */
export type InfoPage = (typeof import("../features/pages").PAGES)[number]["name"];

let pages: readonly Page<InfoPage>[] = [];

/** `at` is the seq of a message, to which the page scrolls. */
export type Route = { page: "session"; id: string; at?: number } | { page: "traces"; id?: string; row?: string } | { page: "new" | InfoPage };

export const route = signal<Route>(parseRoute());

addEventListener("hashchange", () => (route.value = parseRoute()));

/** Makes pages known. They are passed in, because they link to each other by this module. */
export function installPages(installed: readonly Page<InfoPage>[]): void {
  pages = installed;
  route.value = parseRoute();
}

/** Returns the pages, in the order of their links. */
export function listPages(): readonly Page<InfoPage>[] {
  return pages;
}

export function parseRoute(hash = location.hash): Route {
  const [, page = "", id = "", part = ""] = hash.split("/");
  if (page === "session" && id) {
    try {
      return { page, id: decodeURIComponent(id), ...(/^[1-9]\d{0,14}$/.test(part) ? { at: Number(part) } : {}) };
    } catch {
      return { page: "new" };
    }
  }
  if (page === "traces" && id) {
    try {
      return { page, id: decodeURIComponent(id), row: decodeURIComponent(part) };
    } catch {
      return { page: "traces" };
    }
  }
  const found = pages.find((each) => each.name === page);
  return found === undefined ? { page: "new" } : { page: found.name };
}

export function routeUrl(to: Route): string {
  if (to.page === "traces" && "id" in to && to.id) return `#/traces/${encodeURIComponent(to.id)}${to.row ? `/${encodeURIComponent(to.row)}` : ""}`;
  return to.page === "session" ? `#/session/${encodeURIComponent(to.id)}${to.at === undefined ? "" : `/${to.at}`}` : to.page === "new" ? "#/" : `#/${to.page}`;
}

/** Navigates to a route; `replace` replaces the current history entry. */
export function navigate(to: Route, replace = false): void {
  if (replace) history.replaceState(null, "", routeUrl(to));
  else history.pushState(null, "", routeUrl(to));
  route.value = to;
}

addEventListener("popstate", () => (route.value = parseRoute()));
