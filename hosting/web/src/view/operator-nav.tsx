// Links between the pages of operators, which stand together below "This host".
import type { JSX } from "preact";
import { currentUser } from "../model/app-state";
import { listPages, routeUrl, route } from "../model/router";
import { t } from "../text/translate";

/** Returns whether a page belongs to "This host". */
export function isHostPage(name: string): boolean {
  return listPages().some((page) => page.name === name && (page.icon === null || name === "host"));
}

export function OperatorNav(): JSX.Element | null {
  if (!currentUser.value?.operator) return null;
  return (
    <nav class="operator-nav" aria-label={t("Pages of operators")}>
      <ul>
        {listPages().filter(({ name }) => isHostPage(name)).map(({ name, title }) => (
          <li key={name}>
            <a href={routeUrl({ page: name })} aria-current={route.value.page === name ? "page" : undefined}>{name === "host" ? t("Overview") : title()}</a>
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
