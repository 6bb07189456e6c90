// Rows of a trace that open: model calls with prompt and reply, tool calls with arguments, verdicts and result, approvals, notes.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { route, routeUrl } from "../../model/router";
import type { TraceRow } from "./trace-tree";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { formatDuration, formatNumber, formatUsageCost } from "../../text/format";
import { riskWord, stateLabel } from "../../text/state-labels";
import { attemptLabel, decisionLabel, noteLabel, purposeLabel, subjectLabel, verdictLabel } from "./trace-text";
import { t } from "../../text/translate";
import type { RecordView } from "../../wire/types";
import { Disclosure } from "../../view/controls";

export function TraceRows({ task, rows }: { task: string; rows: readonly TraceRow[] }): JSX.Element {
  return (
    <ul class="trace-rows">
      {rows.map((row) => (
        <Row key={row.key} task={task} row={row} />
      ))}
    </ul>
  );
}

function Row({ task, row }: { task: string; row: TraceRow }): JSX.Element {
  const here = useRef<HTMLLIElement>(null);
  const to = route.value;
  const isLinked = to.page === "traces" && "row" in to && to.row === row.key;
  useEffect(() => {
    if (isLinked) here.current?.scrollIntoView({ block: "center" });
  }, [isLinked]);
  const { label, detail, english = "" } = describe(row);
  return (
    <li ref={here} class={isLinked ? "linked" : undefined}>
      <Disclosure
        class="tool-call"
        open={isLinked || row.kind === "step"}
        summary={
          <>
            <span class="tool-name">{toOneLine(label, 60)}</span>
            <span class="tool-arguments">
              {toOneLine(detail, 120)}
              {detail !== "" && english !== "" && " · "}
              {english !== "" && <span lang="en">{toOneLine(english, 120)}</span>}
            </span>
            <span class="tool-end" title={t("Begun {start} after the turn, took {duration}", { start: formatDuration(row.start), duration: formatDuration(row.duration) })}>
              {t("at {start}, took {duration}", { start: formatDuration(row.start), duration: formatDuration(row.duration) })}
            </span>
          </>
        }
      >
        {() => (
          <>
            <Content task={task} row={row} />
            <p>
              <a href={routeUrl({ page: "traces", id: task, row: row.key })}>{t("Link to this row")}</a>
            </p>
          </>
        )}
      </Disclosure>
    </li>
  );
}

/** The name of a row and what it says of itself; `english` is what the host says in its own words. */
function describe(row: TraceRow): { label: string; detail: string; english?: string } {
  if (row.kind === "attempt") {
    const { attempt } = row;
    return { label: attempt.model, detail: [purposeLabel(attempt.purpose), attemptLabel(attempt.outcome)].join(" · ") };
  }
  if (row.kind === "tool") return { label: row.call.tool, detail: `${stateLabel(row.call.outcome)} · ${row.arguments}` };
  if (row.kind === "approval") return { label: t("Approval"), detail: `${row.approval.kind === "tool" && row.approval.tool ? row.approval.tool : subjectLabel(row.approval.kind)}: ${row.approval.decision ? decisionLabel(row.approval.decision) : t("nobody has decided")}` };
  if (row.kind === "step") return { label: row.label, detail: stateLabel(row.status), english: row.reason };
  return { label: noteLabel(row.note.kind), detail: "", english: noteText(row.note.data) };
}

function noteText(data: Record<string, unknown>): string {
  return Object.entries(data)
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}

function Content({ task, row }: { task: string; row: TraceRow }): JSX.Element {
  if (row.kind === "step") return <TraceRows task={task} rows={row.children} />;
  if (row.kind === "note") return <Text title={t("Details")} text={JSON.stringify(row.note.data, null, 2)} />;
  if (row.kind === "approval") return <Facts items={[[t("decided by"), row.approval.decided_by || t("nobody")]]} />;
  if (row.kind === "tool") {
    return (
      <>
        <Facts items={[[t("risk"), row.call.risk && riskWord(row.call.risk)], ...row.call.verdicts.map((each): [string, string] => [each.guard, `${verdictLabel(each.verdict)} (${each.rule})`])]} />
        <Text title={t("Arguments")} text={row.arguments} />
        {row.result !== null ? <Text title={t("Result")} text={row.result} /> : <p class="hint">{t("The result is not stored with the conversation.")}</p>}
        {row.children.length > 0 && <TraceRows task={task} rows={row.children} />}
      </>
    );
  }
  const { usage, first_token_ms: first, detail } = row.attempt;
  return (
    <>
      <Facts
        items={[
          [t("tokens"), t("{input_tokens} in, {output_tokens} out", { input_tokens: formatNumber(usage.input_tokens), output_tokens: formatNumber(usage.output_tokens) })],
          [t("cost"), formatUsageCost(usage)],
          [t("first text after"), first === null ? "" : formatDuration(first)],
          [t("reason"), detail],
        ]}
      />
      {row.prompt !== null && <Text title={t("Last message of the prompt")} text={messageText(row.prompt)} />}
      {row.reply !== null ? <Text title={t("Reply")} text={messageText(row.reply)} /> : <p class="hint">{t("Prompt and reply are not stored with the conversation.")}</p>}
    </>
  );
}

function messageText(message: RecordView): string {
  const calls = (message.tool_calls ?? []).map((call) => `${call.name} ${JSON.stringify(call.arguments)}`);
  return [message.content, ...calls].filter(Boolean).join("\n");
}

function Facts({ items }: { items: readonly [string, string][] }): JSX.Element {
  return (
    <dl class="facts">
      {items
        .filter(([, value]) => value !== "")
        .map(([name, value]) => (
          <div key={name}>
            <dt>{toOneLine(name, 40)}</dt>
            <dd>{toOneLine(value, 300)}</dd>
          </div>
        ))}
    </dl>
  );
}

function Text({ title, text }: { title: string; text: ComponentChildren & string }): JSX.Element {
  return (
    <>
      <p class="row-title">{title}</p>
      <pre tabIndex={0}>{escapeControls(text)}</pre>
    </>
  );
}
