// Links between the pages of operators, which stand together below "This host".
import type { JSX } from "preact";
import { currentUser } from "../model/app-state";
import { routeUrl, route, type InfoPage } from "../model/router";
import { t } from "../text/translate";

const PAGES: readonly (readonly [InfoPage, () => string])[] = [
  ["host", () => t("Overview")],
  ["setup", () => t("Set up a model")],
  ["settings", () => t("Settings")],
  ["access", () => t("Users and tokens")],
  ["routing", () => t("Routing")],
  ["audit", () => t("Audit")],
  ["logs", () => t("Log")],
];

/** The pages that belong to "This host". */
export const HOST_PAGES: ReadonlySet<string> = new Set(PAGES.map(([page]) => page));

export function OperatorNav(): JSX.Element | null {
  if (!currentUser.value?.operator) return null;
  return (
    <nav class="operator-nav" aria-label={t("Pages of operators")}>
      <ul>
        {PAGES.map(([page, label]) => (
          <li key={page}>
            <a href={routeUrl({ page })} aria-current={route.value.page === page ? "page" : undefined}>{label()}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** What somebody sees who opens a page for operators without being one. */
export function OperatorsOnly(): JSX.Element {
  return <p class="empty">{t("Only an operator may do this.")}</p>;
}
