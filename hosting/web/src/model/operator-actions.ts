// Actions of operators on the host page: reset a provider, list and retry dead letters.
import { getJson, sendJson } from "../wire/http-api";
import type { DeadLetter } from "../wire/protocol";
import { notice, refreshHost, reportErrors } from "./app-state";
import { t } from "../text/translate";

/** End a provider's cool-downs, enable its rejected keys and close its circuit. */
export async function resetProvider(id: string): Promise<void> {
  await reportErrors(() => sendJson("POST", `/api/providers/${encodeURIComponent(id)}/reset`));
  await refreshHost();
}

/** Returns the dead letters; none if the host cannot list them. */
export async function loadDeadLetters(): Promise<readonly DeadLetter[]> {
  try {
    return (await getJson<{ items: DeadLetter[] }>("/api/queue/dead")).items;
  } catch {
    return []; // The connection status reports an unreachable host.
  }
}

/** Enqueue a dead letter again: a task as a new one, a message to a chat in its old place. */
export async function retryDeadLetter(id: string): Promise<void> {
  const done = await reportErrors(() => sendJson("POST", `/api/queue/dead/${encodeURIComponent(id)}/retry`));
  if (done) notice.value = { text: t("It is queued again."), isError: false };
}
