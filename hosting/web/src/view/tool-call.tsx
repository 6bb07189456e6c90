// A tool call: one summary line, with arguments and result when expanded.
import type { JSX } from "preact";
import { findBlock } from "../model/guard-verdicts";
import type { ToolItem } from "../model/turn-reducer";
import type { GuardVerdict } from "../model/guard-verdicts";
import { formatDuration } from "../text/format";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { t } from "../text/translate";
import { Icon, type IconName } from "./icons";
import { CopyButton, Disclosure } from "./controls";
import { GuardReason } from "./guard-reason";

const OUTCOMES: Record<string, { icon: IconName; label: () => string }> = {
  running: { icon: "clock", label: () => t("running") },
  completed: { icon: "check", label: () => "" },
  failed: { icon: "cross", label: () => t("failed") },
  denied: { icon: "cross", label: () => t("denied") },
  blocked: { icon: "blocked", label: () => t("blocked") },
  timed_out: { icon: "clock", label: () => t("timed out") },
  cancelled: { icon: "dash", label: () => t("cancelled") },
  discarded: { icon: "dash", label: () => t("discarded") },
  interrupted: { icon: "dash", label: () => t("interrupted, outcome unknown") },
};

export function ToolCall({ item }: { item: ToolItem }): JSX.Element {
  const block = findBlock(item.verdicts);
  const outcome = block !== undefined && item.outcome === "denied" ? "blocked" : item.outcome;
  const { icon, label } = OUTCOMES[outcome] ?? { icon: "dash" as const, label: () => outcome };
  const summary = (
    <>
      <span class={`mark ${outcome}`}>
        <Icon name={icon} />
      </span>
      <span class="tool-name">{toOneLine(item.tool, 60)}</span>
      <span class="tool-arguments">{summarizeArguments(item)}</span>
      <span class="tool-end">
        {label()}
        {item.durationMs > 0 && ` ${formatDuration(item.durationMs)}`}
      </span>
    </>
  );
  const call = (
    <Disclosure class={`tool-call ${outcome}`} summary={summary}>
      {() => (
        <>
          {item.verdicts.map((each) => (
            <VerdictLine key={`${each.guard}/${each.verdict}/${each.rule}`} verdict={each} />
          ))}
          <Section label={t("Arguments")} copyLabel={t("Copy arguments")} text={JSON.stringify(item.arguments, null, 2)} />
          {item.result !== "" && <Section label={t("Result")} copyLabel={t("Copy result")} text={item.result} />}
        </>
      )}
    </Disclosure>
  );
  if (outcome !== "blocked" || block === undefined) return call;
  return (
    <div class="blocked-call" role="group" aria-label={t("Blocked: {tool}", { tool: toOneLine(item.tool, 60) })}>
      {call}
      <p class="blocked-why">
        <GuardReason verb={t("blocked this")} {...block} />
      </p>
    </div>
  );
}

const VERDICT_VERBS: Record<string, () => string> = { block: () => t("blocked this"), escalate: () => t("asked a person"), allow: () => t("allowed this") };

function VerdictLine({ verdict }: { verdict: GuardVerdict }): JSX.Element {
  const tier = verdict.tier > 0 ? t(" (tier {tier})", { tier: verdict.tier }) : "";
  return (
    <p class={`verdict ${verdict.verdict}`}>
      <GuardReason verb={`${VERDICT_VERBS[verdict.verdict]?.() ?? verdict.verdict}${tier}`} {...verdict} />
    </p>
  );
}

function Section({ label, copyLabel, text }: { label: string; copyLabel: string; text: string }): JSX.Element {
  return (
    <section class="part">
      <header>
        <strong>{label}</strong>
        <CopyButton text={text} label={copyLabel} />
      </header>
      <pre tabIndex={0} role="region" aria-label={label}>
        {escapeControls(text)}
      </pre>
    </section>
  );
}

function summarizeArguments(item: ToolItem): string {
  const values = Object.values(item.arguments).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return toOneLine(values.join(", "), 90);
}
