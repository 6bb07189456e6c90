// What was written and not sent yet, for each session: a reload and a closed tab lose nothing.

const PREFIX = "sophon.draft.";
const MOST = 100_000;

export function draftOf(session: string): string {
  return localStorage.getItem(PREFIX + session) ?? "";
}

export function keepDraft(session: string, text: string): void {
  if (text === "") localStorage.removeItem(PREFIX + session);
  else if (text.length <= MOST) localStorage.setItem(PREFIX + session, text);
}
