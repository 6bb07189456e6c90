// One call of a tool: a line, and below it what went in and what came out.
import type { JSX } from "preact";
import type { ToolItem } from "../model/turn";
import { duration } from "../text/format";
import { onOneLine, visible } from "../text/visible";
import { Icon, type IconName } from "./icons";
import { CopyButton, Fold } from "./parts";

const OUTCOMES: Record<string, { icon: IconName; said: string }> = {
  running: { icon: "clock", said: "running" },
  completed: { icon: "check", said: "" },
  failed: { icon: "cross", said: "failed" },
  denied: { icon: "cross", said: "refused" },
  timed_out: { icon: "clock", said: "took too long" },
  cancelled: { icon: "dash", said: "stopped" },
  discarded: { icon: "dash", said: "left out" },
};

export function ToolCall({ item }: { item: ToolItem }): JSX.Element {
  const { icon, said } = OUTCOMES[item.outcome] ?? { icon: "dash" as const, said: item.outcome };
  const summary = (
    <>
      <span class={`mark ${item.outcome}`}>
        <Icon name={icon} />
      </span>
      <span class="tool-name">{onOneLine(item.tool, 60)}</span>
      <span class="tool-arguments">{brief(item)}</span>
      <span class="tool-end">
        {said}
        {item.durationMs > 0 && ` ${duration(item.durationMs)}`}
      </span>
    </>
  );
  return (
    <Fold class={`tool-call ${item.outcome}`} summary={summary}>
      {() => (
        <>
          <Part label="Arguments" text={JSON.stringify(item.arguments, null, 2)} />
          {item.result !== "" && <Part label="Result" text={item.result} />}
        </>
      )}
    </Fold>
  );
}

function Part({ label, text }: { label: string; text: string }): JSX.Element {
  return (
    <section class="part">
      <header>
        <strong>{label}</strong>
        <CopyButton text={text} what={label.toLowerCase()} />
      </header>
      <pre tabIndex={0} role="region" aria-label={label}>
        {visible(text)}
      </pre>
    </section>
  );
}

function brief(item: ToolItem): string {
  const values = Object.values(item.arguments).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return onOneLine(values.join(", "), 90);
}
