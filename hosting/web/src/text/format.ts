// Formatting of times, durations, tokens, costs and counts by the reader's locale.
import { locale, plural, t } from "./translate";

const formats = new Map<string, Intl.NumberFormat>();

/** The format for some options; it is kept, because to make one takes long. */
function numberFormat(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${locale()} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (format === undefined) formats.set(key, (format = new Intl.NumberFormat(locale(), options)));
  return format;
}

/** A number with exactly so many fraction digits; without a number of them, with at most three. */
export function formatNumber(value: number, digits?: number): string {
  return numberFormat(digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

/** 50 as "50%". */
export function formatPercent(value: number): string {
  return numberFormat({ style: "percent" }).format(value / 100);
}

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${formatNumber(Math.round(milliseconds))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${formatNumber(seconds, seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${formatNumber(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

/** Milliseconds with one fraction digit, for what takes less than one. */
export function formatMilliseconds(value: number): string {
  return `${formatNumber(value, 1)} ms`;
}

export function formatTokens(count: number): string {
  if (count < 1000) return plural(count, "{count} token", "{count} tokens");
  if (count < 1_000_000) return t("{count}k tokens", { count: formatNumber(count / 1000, 1) });
  return t("{count}M tokens", { count: formatNumber(count / 1_000_000, 2) });
}

/** Formats micro-USD as dollars. */
export function formatCost(micros: number): string {
  const dollars = micros / 1_000_000;
  const digits = micros === 0 ? 0 : dollars < 0.01 ? 4 : 2;
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return numberFormat({ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", ...fraction }).format(dollars);
}

/** Formats the cost of a usage; a part whose price is unknown is said to be so, because it is not free. */
export function formatUsageCost(usage: { cost_micros: number; unpriced_tokens?: number }): string {
  if (!usage.unpriced_tokens) return formatCost(usage.cost_micros);
  return usage.cost_micros > 0 ? t("{cost} + unknown cost", { cost: formatCost(usage.cost_micros) }) : t("unknown cost");
}

export function formatAge(time: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 60) return t("now");
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return new Date(time).toLocaleDateString(locale(), { month: "short", day: "numeric" });
}

/** The time of day by the reader's locale, with the date unless it is today's. */
export function formatTime(time: string, now = new Date()): string {
  const at = new Date(time);
  if (at.toDateString() === now.toDateString()) return formatClock(time);
  const year = at.getFullYear() === now.getFullYear() ? {} : { year: "numeric" as const };
  return at.toLocaleString(locale(), { ...CLOCK, ...year, month: "short", day: "numeric" });
}

const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;

/** The time of day. */
export function formatClock(time: string): string {
  return new Date(time).toLocaleTimeString(locale(), CLOCK);
}

/** The date and the time of day, with seconds. */
export function formatDateTime(time: string): string {
  return new Date(time).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "medium" });
}

/** The date in the reader's time zone. */
export function formatDate(time: string): string {
  return new Date(time).toLocaleDateString(locale(), { dateStyle: "medium" });
}

/** A day of the calendar, such as 2026-11-23, which has no time zone. */
export function formatDay(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString(locale(), { dateStyle: "medium", timeZone: "UTC" });
}

export function formatBytes(count: number): string {
  return count < 1_000_000 ? `${formatNumber(Math.ceil(count / 1_000))} kB` : `${formatNumber(count / 1_000_000, 1)} MB`;
}
