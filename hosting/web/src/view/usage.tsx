// What was used: today and this month beside the limits, over the last days, and by model.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { current, me, spent } from "../model/app";
import { cost, tokens } from "../text/format";
import { onOneLine } from "../text/visible";
import { get } from "../wire/api";
import type { LimitRow, UsageRow } from "../wire/protocol";

const DAYS = 14;

interface Answer {
  items: UsageRow[];
  limits?: LimitRow[];
}

export function UsagePage(): JSX.Element {
  const [found, setFound] = useState<Answer | null>(null);
  const operator = me.value?.operator === true;
  useEffect(() => {
    if (operator) get<Answer>("/api/usage", { since: dayOf(DAYS - 1) }).then(setFound, () => undefined);
  }, [operator, spent.value]);
  return (
    <section class="sheet-page">
      <h2>Usage</h2>
      {!operator && <p class="hint">What all conversations together use is for operators. Each conversation shows its own beside its title.</p>}
      {found?.limits?.map((row) => <Limits key={row.provider} row={row} />)}
      {found && <Chart rows={found.items} />}
      {found && <Models rows={found.items} />}
    </section>
  );
}

/** The tokens and the cost of the conversation that is open. */
export function SessionUsage(): JSX.Element | null {
  const id = current.value?.id;
  const [sum, setSum] = useState<{ tokens: number; micros: number } | null>(null);
  useEffect(() => {
    setSum(null);
    if (id === undefined || current.value?.state.value !== "open") return;
    get<Answer>("/api/usage", { session_id: id }).then(
      ({ items }) => setSum(total(items)),
      () => undefined,
    );
  }, [id, spent.value, current.value?.state.value]);
  if (sum === null || sum.tokens === 0) return null;
  return (
    <span class="session-usage" title="What this conversation has used so far">
      {tokens(sum.tokens)} · {cost(sum.micros)}
    </span>
  );
}

function Limits({ row }: { row: LimitRow }): JSX.Element {
  return (
    <section class="limits">
      <h3>{onOneLine(row.provider, 40)}</h3>
      <Meter label="Tokens today" used={row.tokens_today} limit={row.daily_tokens} show={tokens} />
      <Meter label="Cost this month" used={row.cost_micros_this_month} limit={row.monthly_cost_micros} show={cost} />
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
        {show(used)} {limit === null ? <span class="hint">no limit</span> : `of ${show(limit)}`}
      </span>
      {limit !== null && (
        <span class={share >= 0.8 ? "gauge high" : "gauge"} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={limit} aria-valuenow={Math.min(used, limit)}>
          <span style={{ width: `${share * 100}%` }} />
        </span>
      )}
    </div>
  );
}

/** Tokens of each of the last days, as bars. */
function Chart({ rows }: { rows: UsageRow[] }): JSX.Element {
  const days = Array.from({ length: DAYS }, (_, index) => dayOf(DAYS - 1 - index));
  const sums = days.map((day) => total(rows.filter((row) => row.day === day)));
  const most = Math.max(1, ...sums.map((sum) => sum.tokens));
  return (
    <section class="chart">
      <h3>The last {DAYS} days</h3>
      <ol>
        {days.map((day, index) => {
          const sum = sums[index]!;
          return (
            <li key={day} title={`${day}: ${tokens(sum.tokens)}, ${cost(sum.micros)}`}>
              <span class="column-bar" style={{ height: `${(100 * sum.tokens) / most}%` }} />
              <span class="off-screen">{`${day}: ${tokens(sum.tokens)}, ${cost(sum.micros)}`}</span>
              <span class="day" aria-hidden="true">{day.slice(8)}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Models({ rows }: { rows: UsageRow[] }): JSX.Element {
  const models = [...new Set(rows.map((row) => `${row.provider}/${row.model}`))];
  if (models.length === 0) return <p class="empty">Nothing was used in these days.</p>;
  return (
    <table class="plain">
      <caption class="off-screen">By model</caption>
      <thead>
        <tr>
          <th>Model</th>
          <th>Calls</th>
          <th>Tokens</th>
          <th>Cost</th>
        </tr>
      </thead>
      <tbody>
        {models.map((model) => {
          const of = rows.filter((row) => `${row.provider}/${row.model}` === model);
          const sum = total(of);
          return (
            <tr key={model}>
              <th scope="row">{onOneLine(model, 60)}</th>
              <td>{of.reduce((calls, row) => calls + row.calls, 0)}</td>
              <td>{tokens(sum.tokens)}</td>
              <td>{cost(sum.micros)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function total(rows: UsageRow[]): { tokens: number; micros: number } {
  return {
    tokens: rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0),
    micros: rows.reduce((sum, row) => sum + row.cost_micros, 0),
  };
}

/** A day in UTC, so many days ago. */
function dayOf(ago: number): string {
  return new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
}
