// Usage page: usage and limits of today and this month, a chart of the last days, and a table by model.
import { definePage } from "../../model/page";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { currentSession, currentUser, usageVersion } from "../../model/app-state";
import { formatCost, formatDay, formatNumber, formatTokens, formatUsageCost } from "../../text/format";
import { toOneLine } from "../../text/escape-controls";
import { t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { getUsage } from "../../wire/operations";
import type { ModelUsage, ProviderLimit, UsageReport } from "../../wire/types";
import { EmptyState } from "../../view/loaded-items";

export const usagePage = definePage({ name: "usage", title: () => t("Usage"), icon: "chart", View: UsagePage });

const DAYS = 14;

interface UsageSum {
  tokens: number;
  cost_micros: number;
  unpriced_tokens: number;
}

function UsagePage(): JSX.Element {
  const [usage, setUsage] = useState<UsageReport | null>(null);
  const operator = currentUser.value?.operator === true;
  useEffect(() => {
    if (operator) call(getUsage, { since: utcDay(DAYS - 1) }).then(setUsage, () => undefined);
  }, [operator, usageVersion.value]);
  return (
    <section class="info-page">
      <h2>{t("Usage")}</h2>
      {!operator && <p class="hint">{t("The usage of all conversations is visible to operators only. Each conversation shows its own usage beside its title.")}</p>}
      {usage?.limits?.map((row) => <ProviderLimits key={row.provider} row={row} />)}
      {usage && <TokenChart rows={usage.items} />}
      {usage && <ModelTable rows={usage.items} />}
    </section>
  );
}

/** Tokens and cost of the open session. */
export function SessionUsage(): JSX.Element | null {
  const id = currentSession.value?.id;
  const [sum, setSum] = useState<UsageSum | null>(null);
  useEffect(() => {
    setSum(null);
    if (id === undefined || currentSession.value?.state.value !== "open") return;
    call(getUsage, { session_id: id }).then(
      ({ items }) => setSum(sumUsage(items)),
      () => undefined,
    );
  }, [id, usageVersion.value, currentSession.value?.state.value]);
  if (sum === null || sum.tokens === 0) return null;
  return (
    <span class="session-usage" title={t("Usage of this conversation so far")}>
      {formatTokens(sum.tokens)} · {formatUsageCost(sum)}
    </span>
  );
}

function ProviderLimits({ row }: { row: ProviderLimit }): JSX.Element {
  return (
    <section class="limits">
      <h3>{toOneLine(row.provider, 40)}</h3>
      <Meter label={t("Tokens today")} used={row.tokens_today} limit={row.daily_tokens} show={formatTokens} />
      <Meter label={t("Cost this month")} used={row.cost_micros_this_month} limit={row.monthly_cost_micros} show={formatCost} />
    </section>
  );
}

function Meter(props: { label: string; used: number; limit: number | null; show: (value: number) => string }): JSX.Element {
  const { label, used, limit, show } = props;
  const share = limit ? Math.min(1, used / limit) : 0;
  return (
    <div class="meter">
      <span>{label}</span>
      <span>
        {show(used)} {limit === null ? <span class="hint">{t("no limit")}</span> : t("of {limit}", { limit: show(limit) })}
      </span>
      {limit !== null && (
        <span class={share >= 0.8 ? "gauge high" : "gauge"} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={limit} aria-valuenow={Math.min(used, limit)}>
          <span style={{ width: `${share * 100}%` }} />
        </span>
      )}
    </div>
  );
}

/** Bar chart of the tokens per day. */
function TokenChart({ rows }: { rows: ModelUsage[] }): JSX.Element {
  const days = Array.from({ length: DAYS }, (_, index) => utcDay(DAYS - 1 - index));
  const sums = days.map((day) => sumUsage(rows.filter((row) => row.day === day)));
  const maximum = Math.max(1, ...sums.map((sum) => sum.tokens));
  return (
    <section class="chart">
      <h3>{t("The last {days} days", { days: DAYS })}</h3>
      <ol>
        {days.map((day, index) => {
          const sum = sums[index]!;
          return (
            <li key={day} title={`${formatDay(day)}: ${formatTokens(sum.tokens)}, ${formatUsageCost(sum)}`}>
              <span class="column-bar" style={{ height: `${(100 * sum.tokens) / maximum}%` }} />
              <span class="off-screen">{`${formatDay(day)}: ${formatTokens(sum.tokens)}, ${formatUsageCost(sum)}`}</span>
              <span class="day" aria-hidden="true">{day.slice(8)}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function ModelTable({ rows }: { rows: ModelUsage[] }): JSX.Element {
  const models = [...new Set(rows.map((row) => `${row.provider}/${row.model}`))];
  if (models.length === 0) return <EmptyState title={t("No usage in these days.")}>{t("Each message that a model answers adds its tokens and its cost.")}</EmptyState>;
  return (
    <table class="plain">
      <caption class="off-screen">{t("By model")}</caption>
      <thead>
        <tr>
          <th>{t("Model")}</th>
          <th>{t("Calls")}</th>
          <th>{t("Tokens")}</th>
          <th>{t("Cost")}</th>
        </tr>
      </thead>
      <tbody>
        {models.map((model) => {
          const modelRows = rows.filter((row) => `${row.provider}/${row.model}` === model);
          const sum = sumUsage(modelRows);
          return (
            <tr key={model}>
              <th scope="row">{toOneLine(model, 60)}</th>
              <td>{formatNumber(modelRows.reduce((calls, row) => calls + row.calls, 0))}</td>
              <td>{formatTokens(sum.tokens)}</td>
              <td>{formatUsageCost(sum)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function sumUsage(rows: ModelUsage[]): UsageSum {
  return {
    tokens: rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0),
    cost_micros: rows.reduce((sum, row) => sum + row.cost_micros, 0),
    unpriced_tokens: rows.reduce((sum, row) => sum + (row.unpriced_tokens ?? 0), 0),
  };
}

/** Returns the UTC date of `ago` days ago. */
function utcDay(ago: number): string {
  return new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
}
