// A tool call: one summary line, with arguments and result when expanded.
import type { JSX } from "preact";
import { findBlock } from "../model/guard-verdicts";
import type { ToolItem } from "../model/turn-reducer";
import type { GuardVerdict } from "../wire/protocol";
import { formatDuration } from "../text/format";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { Icon, type IconName } from "./icons";
import { CopyButton, Disclosure } from "./controls";
import { GuardReason } from "./guard-reason";

const OUTCOMES: Record<string, { icon: IconName; label: string }> = {
  running: { icon: "clock", label: "running" },
  completed: { icon: "check", label: "" },
  failed: { icon: "cross", label: "failed" },
  denied: { icon: "cross", label: "denied" },
  blocked: { icon: "blocked", label: "blocked" },
  timed_out: { icon: "clock", label: "timed out" },
  cancelled: { icon: "dash", label: "cancelled" },
  discarded: { icon: "dash", label: "discarded" },
  interrupted: { icon: "dash", label: "interrupted, outcome unknown" },
};

export function ToolCall({ item }: { item: ToolItem }): JSX.Element {
  const block = findBlock(item.verdicts);
  const outcome = block !== undefined && item.outcome === "denied" ? "blocked" : item.outcome;
  const { icon, label } = OUTCOMES[outcome] ?? { icon: "dash" as const, label: outcome };
  const summary = (
    <>
      <span class={`mark ${outcome}`}>
        <Icon name={icon} />
      </span>
      <span class="tool-name">{toOneLine(item.tool, 60)}</span>
      <span class="tool-arguments">{summarizeArguments(item)}</span>
      <span class="tool-end">
        {label}
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
          <Section label="Arguments" text={JSON.stringify(item.arguments, null, 2)} />
          {item.result !== "" && <Section label="Result" text={item.result} />}
        </>
      )}
    </Disclosure>
  );
  if (outcome !== "blocked" || block === undefined) return call;
  return (
    <div class="blocked-call" role="group" aria-label={`Blocked: ${toOneLine(item.tool, 60)}`}>
      {call}
      <p class="blocked-why">
        <GuardReason verb="blocked this" {...block} />
      </p>
    </div>
  );
}

const VERDICT_VERBS: Record<string, string> = { block: "blocked this", escalate: "asked a person", allow: "allowed this" };

function VerdictLine({ verdict }: { verdict: GuardVerdict }): JSX.Element {
  const tier = verdict.tier > 0 ? ` (tier ${verdict.tier})` : "";
  return (
    <p class={`verdict ${verdict.verdict}`}>
      <GuardReason verb={`${VERDICT_VERBS[verdict.verdict] ?? verdict.verdict}${tier}`} {...verdict} />
    </p>
  );
}

function Section({ label, text }: { label: string; text: string }): JSX.Element {
  return (
    <section class="part">
      <header>
        <strong>{label}</strong>
        <CopyButton text={text} what={label.toLowerCase()} />
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
