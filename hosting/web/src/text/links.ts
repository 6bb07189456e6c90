// Where a link of a model may lead: to the web and to mail, and nowhere that does something.

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/** The address in full, or nothing for one that is not to be followed. */
export function safeLink(address: string): string | null {
  try {
    const url = new URL(address);
    return ALLOWED.has(url.protocol) ? url.href : null;
  } catch {
    return null; // no address in full: it would lead to a page of this host
  }
}
