// Provider state for the host page: what keeps a provider from being called, and until when. Sent to operators only.
import type { ProviderModels } from "../../wire/types";
import { formatClock } from "../../text/format";
import { t } from "../../text/translate";

/** Returns one line per reason; none for a provider that is called as usual. */
export function describePause(provider: ProviderModels): string[] {
  const lines: string[] = [];
  const total = provider.keys ?? 0;
  if (provider.keys_disabled) lines.push(t("{count} of {total} keys were rejected", { count: provider.keys_disabled, total }));
  if (provider.keys_cooling) lines.push(t("{count} of {total} keys are cooling down", { count: provider.keys_cooling, total }));
  if (provider.circuit === "open") lines.push(t("the circuit breaker is open"));
  if (provider.available_at) {
    lines.push(t("called again at {time}", { time: formatClock(provider.available_at) }));
  }
  return lines;
}
