// Conversations off the record: the host keeps them in memory only, and the page keeps nothing of them either.

/** Whether a session is off the record: the host gives such sessions ids of this form, and to no others. */
export function isOffTheRecord(session: string): boolean {
  return /^otr-[0-9a-f]{20}$/.test(session);
}
