// A page beside the conversations, as its feature declares it.
import type { JSX } from "preact";
import type { IconName } from "../view/icons";

/**
 * `name` is its route. With an `icon` it is linked in the sidebar; without one it is for operators alone, and stands below "This host".
 */
export interface Page<Name extends string = string> {
  readonly name: Name;
  readonly title: () => string;
  readonly icon: IconName | null;
  readonly View: () => JSX.Element | null;
}

/** Returns the page, whose name is known to the types of routes. */
export function definePage<Name extends string>(page: Page<Name>): Page<Name> {
  return page;
}
