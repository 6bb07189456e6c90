// Drafts of unsent messages per session in local storage; they survive a reload.

import { isOffTheRecord } from "./off-the-record";

const PREFIX = "sophon.draft.";
export const FILES_PREFIX = "sophon.draft-files.";
const MAX_CHARACTERS = 100_000;

export function loadDraft(session: string): string {
  return localStorage.getItem(PREFIX + session) ?? "";
}

export function saveDraft(session: string, text: string): void {
  if (isOffTheRecord(session)) return;
  if (text === "") localStorage.removeItem(PREFIX + session);
  else if (text.length <= MAX_CHARACTERS) localStorage.setItem(PREFIX + session, text);
}

/** Forgets the drafts of all conversations, and which files they have: whoever signs in next may be somebody else. */
export function forgetDrafts(): void {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith(PREFIX) || name.startsWith(FILES_PREFIX)) localStorage.removeItem(name);
  }
}
