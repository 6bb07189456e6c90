// Grouping of conversations by the day of their last change, in the reader's time zone.
import { locale, t } from "./translate";

export interface DayGroup<T> {
  label: string;
  items: T[];
}

const DAY_MS = 86_400_000;

/** Groups what is sorted by time, newest first: today, yesterday, the last seven days, then months. */
export function groupByDay<T>(items: readonly T[], timeOf: (item: T) => string, now = new Date()): DayGroup<T>[] {
  const groups: DayGroup<T>[] = [];
  for (const item of items) {
    const label = dayLabel(new Date(timeOf(item)), now);
    const last = groups.at(-1);
    if (last?.label === label) last.items.push(item);
    else groups.push({ label, items: [item] });
  }
  return groups;
}

function dayLabel(time: Date, now: Date): string {
  const days = Math.round((startOfDay(now) - startOfDay(time)) / DAY_MS);
  if (days <= 0) return t("Today");
  if (days === 1) return t("Yesterday");
  if (days < 7) return t("Last seven days");
  return time.toLocaleDateString(locale(), { month: "long", year: "numeric" });
}

function startOfDay(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}
