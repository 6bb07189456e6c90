// Where the page is, in the address: so that the back key, a reload and a bookmark do what one expects.
import { signal } from "@preact/signals";

export type Route = { page: "session"; id: string } | { page: "new" | "approvals" | "usage" | "host" };

export const route = signal<Route>(read());

addEventListener("hashchange", () => (route.value = read()));

export function read(hash = location.hash): Route {
  const [, page = "", id = ""] = hash.split("/");
  if (page === "session" && id) {
    try {
      return { page, id: decodeURIComponent(id) };
    } catch {
      return { page: "new" };
    }
  }
  return page === "approvals" || page === "usage" || page === "host" ? { page } : { page: "new" };
}

export function addressOf(to: Route): string {
  return to.page === "session" ? `#/session/${encodeURIComponent(to.id)}` : to.page === "new" ? "#/" : `#/${to.page}`;
}

/** `replace` leaves no way back to where one was. */
export function go(to: Route, replace = false): void {
  if (replace) history.replaceState(null, "", addressOf(to));
  else history.pushState(null, "", addressOf(to));
  route.value = to;
}

addEventListener("popstate", () => (route.value = read()));
