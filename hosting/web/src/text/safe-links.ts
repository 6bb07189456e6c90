// Allow-list for links in model output: http, https and mailto.

const ALLOWED_PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** Returns the absolute URL, or null if its protocol is not allowed. */
export function safeLink(address: string): string | null {
  try {
    const url = new URL(address);
    return ALLOWED_PROTOCOLS.has(url.protocol) ? url.href : null;
  } catch {
    return null; // a relative URL would lead to a page of this host
  }
}
