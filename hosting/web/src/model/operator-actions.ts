// Actions of operators on the host page: reset a provider, list and retry dead letters.
import { call } from "../wire/http-api";
import { listDeadLetters, resetProvider as reset, retryDeadLetter as retry } from "../wire/operations";
import type { DeadLetterList } from "../wire/types";
import { notice, refreshHost, reportErrors } from "./app-state";
import { t } from "../text/translate";

/** A dead letter of the queue (`task`), or a message to a chat that could not be delivered (`message`). */
export type DeadLetter = DeadLetterList["items"][number];

/** End a provider's cool-downs, enable its rejected keys and close its circuit. */
export async function resetProvider(id: string): Promise<void> {
  await reportErrors(() => call(reset, { provider_id: id }));
  await refreshHost();
}

/** Returns the dead letters; none if the host cannot list them. */
export async function loadDeadLetters(): Promise<readonly DeadLetter[]> {
  try {
    return (await call(listDeadLetters)).items;
  } catch {
    return []; // The connection status reports an unreachable host.
  }
}

/** Enqueue a dead letter again: a task as a new one, a message to a chat in its old place. */
export async function retryDeadLetter(id: string): Promise<void> {
  const done = await reportErrors(() => call(retry, { task_id: id }));
  if (done) notice.value = { text: t("It is queued again."), isError: false };
}
