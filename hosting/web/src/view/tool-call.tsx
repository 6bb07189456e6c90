// A tool call: one summary line, with arguments and result when expanded.
import type { JSX } from "preact";
import type { ToolItem } from "../model/turn-reducer";
import { formatDuration } from "../text/format";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { Icon, type IconName } from "./icons";
import { CopyButton, Disclosure } from "./controls";

const OUTCOMES: Record<string, { icon: IconName; label: string }> = {
  running: { icon: "clock", label: "running" },
  completed: { icon: "check", label: "" },
  failed: { icon: "cross", label: "failed" },
  denied: { icon: "cross", label: "denied" },
  timed_out: { icon: "clock", label: "timed out" },
  cancelled: { icon: "dash", label: "cancelled" },
  discarded: { icon: "dash", label: "discarded" },
  interrupted: { icon: "dash", label: "interrupted, outcome unknown" },
};

export function ToolCall({ item }: { item: ToolItem }): JSX.Element {
  const { icon, label } = OUTCOMES[item.outcome] ?? { icon: "dash" as const, label: item.outcome };
  const summary = (
    <>
      <span class={`mark ${item.outcome}`}>
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
  return (
    <Disclosure class={`tool-call ${item.outcome}`} summary={summary}>
      {() => (
        <>
          <Section label="Arguments" text={JSON.stringify(item.arguments, null, 2)} />
          {item.result !== "" && <Section label="Result" text={item.result} />}
        </>
      )}
    </Disclosure>
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
