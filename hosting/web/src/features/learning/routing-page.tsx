// Routing page: how models are chosen, what was learned about them, and which one a message would go to.
import { definePage } from "../../model/page";
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { formatCost, formatMilliseconds, formatNumber, formatPercent } from "../../text/format";
import { t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { explainRoute, getRouting, resetRouting } from "../../wire/operations";
import type { RoutingOverview } from "../../wire/types";
import { ActionButton } from "../../view/controls";
import { EmptyState, useLoaded } from "../../view/loaded-items";
import { OperatorNav } from "../../view/operator-nav";
import { ProvidersTable } from "../providers/providers-table";

export const routingPage = definePage({ name: "routing", title: () => t("Routing"), icon: null, View: RoutingPage });

const STRATEGIES: Readonly<Record<string, () => string>> = {
  Priority: () => t("The provider of the lowest priority number that is available."),
  Static: () => t("Always the same model."),
  Capability: () => t("The model that is good at what a message asks for."),
  Tiered: () => t("The tier that fits the complexity of a message."),
  Intelligent: () => t("The tier by complexity, corrected by what similar messages have shown."),
  CostAware: () => t("The cheapest model that has done well."),
};

function RoutingPage(): JSX.Element {
  const [routing, reload] = useLoaded(getRouting, {});
  const reset = async (): Promise<void> => {
    if (await reportErrors(() => call(resetRouting))) reload();
  };
  return (
    <section class="info-page">
      <OperatorNav />
      <h2>{t("Routing")}</h2>
      <p class="hint">{t("How the model of a message is chosen. The trace of a turn says why it was that one.")}</p>
      <Explanation />
      {routing !== null && (
        <>
          <h3>{t("Strategy")}</h3>
          <p>
            <code>{toOneLine(routing.strategy, 30)}</code> {STRATEGIES[routing.strategy]?.()}
          </p>
          <Tiers routing={routing} />
        </>
      )}
      <h3>{t("Providers")}</h3>
      <ProvidersTable />
      <h3>{t("What was learned")}</h3>
      {routing?.items.length === 0 && <EmptyState title={t("Nothing was learned yet.")}>{t("Averages of cost, time and quality appear here after the first turns, by model, tier and kind of work.")}</EmptyState>}
      {routing !== null && routing.items.length > 0 && (
        <>
          <Averages items={routing.items} />
          <ActionButton label={t("Forget what was learned")} action={reset}>{t("Forget what was learned")}</ActionButton>
        </>
      )}
    </section>
  );
}

function Tiers({ routing }: { routing: RoutingOverview }): JSX.Element | null {
  if (routing.tiers.length === 0) return null;
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={t("Tiers")}>
      <table class="plain">
        <thead>
          <tr><th scope="col">{t("Tier")}</th><th scope="col">{t("Models")}</th><th scope="col">{t("Complexity")}</th></tr>
        </thead>
        <tbody>
          {routing.tiers.map((tier) => (
            <tr key={tier.name}>
              <th scope="row">{toOneLine(tier.name, 40)}</th>
              <td>{toOneLine(tier.models.join(", "), 300)}</td>
              <td>{tier.complexity.map((each) => formatNumber(each, 2)).join(" – ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Averages({ items }: { items: RoutingOverview["items"] }): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={t("What was learned")}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("Model")}</th><th scope="col">{t("Tier")}</th><th scope="col">{t("Kind of work")}</th>
            <th scope="col">{t("Calls")}</th><th scope="col">{t("Cost")}</th><th scope="col">{t("Time")}</th><th scope="col">{t("Quality")}</th>
            <th scope="col">{t("Ratings")}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((each) => (
            <tr key={`${each.model} ${each.tier} ${each.task_type}`}>
              <th scope="row">{toOneLine(each.model, 60)}</th>
              <td>{toOneLine(each.tier, 30)}</td>
              <td>{toOneLine(each.task_type, 30)}</td>
              <td>{formatNumber(each.calls)}{each.failures > 0 && ` (${t("{count} failed", { count: each.failures })})`}</td>
              <td>{each.cost_micros === null ? "–" : formatCost(each.cost_micros)}</td>
              <td>{each.latency_ms === null ? "–" : formatMilliseconds(each.latency_ms)}</td>
              <td>{each.quality === null ? "–" : formatPercent(each.quality)}</td>
              <td>{each.said === null ? "–" : `${formatPercent(each.said)} (${formatNumber(each.rated)})`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Form that asks which model a message would go to; nothing is sent to one. */
function Explanation(): JSX.Element {
  const [text, setText] = useState("");
  const [found, setFound] = useState<string | null>(null);
  const explain = async (event: Event): Promise<void> => {
    event.preventDefault();
    await reportErrors(async () => setFound((await call(explainRoute, { text })).explanation));
  };
  return (
    <form class="trial" onSubmit={(event) => void explain(event)}>
      <h3>{t("Which model would it be?")}</h3>
      <label>
        {t("Message")}
        <input value={text} required maxLength={8000} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="submit" class="primary">{t("Explain")}</button>
      </div>
      {found !== null && <pre role="status" lang="en">{escapeControls(found)}</pre>}
    </form>
  );
}
