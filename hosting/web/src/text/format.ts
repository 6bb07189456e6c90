// Formatting of durations, tokens, costs, ages and counts.

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function formatTokens(count: number): string {
  if (count < 1000) return `${count} tokens`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k tokens` : `${(count / 1_000_000).toFixed(2)}M tokens`;
}

/** Formats micro-USD as dollars. */
export function formatCost(micros: number): string {
  if (micros === 0) return "$0";
  const dollars = micros / 1_000_000;
  return dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

/** Formats the cost of a usage; a part whose price is unknown is said to be so, because it is not free. */
export function formatUsageCost(usage: { cost_micros: number; unpriced_tokens?: number }): string {
  if (!usage.unpriced_tokens) return formatCost(usage.cost_micros);
  return usage.cost_micros > 0 ? `${formatCost(usage.cost_micros)} + unknown cost` : "unknown cost";
}

export function formatAge(time: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return new Date(time).toLocaleDateString(undefined, { month: "short", day: "numeric" });
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function formatBytes(count: number): string {
  return count < 1_000_000 ? `${Math.ceil(count / 1_000)} kB` : `${(count / 1_000_000).toFixed(1)} MB`;
}
