// Router: the current route in the URL hash, so that back, reload and bookmarks work.
import { signal } from "@preact/signals";

export type Route = { page: "session"; id: string } | { page: "new" | "approvals" | "usage" | "policy" | "host" };

export const route = signal<Route>(parseRoute());

addEventListener("hashchange", () => (route.value = parseRoute()));

export function parseRoute(hash = location.hash): Route {
  const [, page = "", id = ""] = hash.split("/");
  if (page === "session" && id) {
    try {
      return { page, id: decodeURIComponent(id) };
    } catch {
      return { page: "new" };
    }
  }
  return page === "approvals" || page === "usage" || page === "policy" || page === "host" ? { page } : { page: "new" };
}

export function routeUrl(to: Route): string {
  return to.page === "session" ? `#/session/${encodeURIComponent(to.id)}` : to.page === "new" ? "#/" : `#/${to.page}`;
}

/** Navigates to a route; `replace` replaces the current history entry. */
export function navigate(to: Route, replace = false): void {
  if (replace) history.replaceState(null, "", routeUrl(to));
  else history.pushState(null, "", routeUrl(to));
  route.value = to;
}

addEventListener("popstate", () => (route.value = parseRoute()));
