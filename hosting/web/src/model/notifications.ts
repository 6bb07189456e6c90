// Notifications of the browser for open approvals and finished turns, while the page is not in view.
import { signal } from "@preact/signals";
import { t } from "../text/translate";

const KEY = "sophon.notifications";
const MAX_CHARACTERS = 120;

/** Whether the reader wants them and the browser allows them. */
export const notificationsEnabled = signal(isAllowed() && localStorage.getItem(KEY) === "on");

/** Number of turns that have ended since the page was last in view. */
export const unseenTurns = signal(0);

/** Switches notifications on, for which the browser may ask, or off. Returns why they cannot be switched on. */
export async function toggleNotifications(): Promise<string | null> {
  if (notificationsEnabled.value) {
    notificationsEnabled.value = false;
    localStorage.removeItem(KEY);
    return null;
  }
  if (!("Notification" in globalThis)) return t("This browser shows no notifications on this page; they need HTTPS or localhost.");
  if ((await Notification.requestPermission()) !== "granted") return t("The browser does not allow notifications for this page.");
  notificationsEnabled.value = true;
  localStorage.setItem(KEY, "on");
  return null;
}

/** Notifies of something in a conversation, unless the page is in view. One notification replaces an earlier one of `tag`. */
export function notifyReader(title: string, body: string, tag: string, onOpen: () => void): void {
  if (!document.hidden || !notificationsEnabled.value) return;
  const shown = new Notification(title, { body: body.slice(0, MAX_CHARACTERS), tag });
  shown.onclick = () => {
    window.focus();
    onOpen();
    shown.close();
  };
}

/** Counts a turn that has ended while the page was not in view. */
export function noteEndedTurn(): void {
  if (document.hidden) unseenTurns.value += 1;
}

function isAllowed(): boolean {
  return "Notification" in globalThis && Notification.permission === "granted";
}

if ("document" in globalThis) {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) unseenTurns.value = 0;
  });
}
