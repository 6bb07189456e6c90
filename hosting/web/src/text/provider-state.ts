// Provider state for the host page: what keeps a provider from being called, and until when. Sent to operators only.
import type { ProviderInfo } from "../wire/protocol";

/** Returns one line per reason; none for a provider that is called as usual. */
export function describePause(provider: ProviderInfo): string[] {
  const lines: string[] = [];
  const total = provider.keys ?? 0;
  if (provider.keys_disabled) lines.push(`${provider.keys_disabled} of ${total} keys were rejected`);
  if (provider.keys_cooling) lines.push(`${provider.keys_cooling} of ${total} keys are cooling down`);
  if (provider.circuit === "open") lines.push("the circuit breaker is open");
  if (provider.available_at) {
    const time = new Date(provider.available_at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
    lines.push(`called again at ${time}`);
  }
  return lines;
}
