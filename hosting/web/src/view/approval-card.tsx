// Card of an approval: preview, the complete text, risk, countdown, and the decision.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { connectionState, currentUser, decideApproval, decisionQueue } from "../model/app-state";
import type { ApprovalDecision } from "../wire/types";
import type { ApprovalItem } from "../model/turn-reducer";
import { formatDuration, formatNumber } from "../text/format";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { t } from "../text/translate";
import { clockSkewMs } from "../wire/http-api";
import type { EscalationDetail } from "../wire/types";
import type { Arguments } from "../model/form-fields";
import { ArgumentsForm } from "./arguments-form";
import { Disclosure, useNow } from "./controls";
import { GuardReason } from "./guard-reason";
import { riskLabel } from "../text/state-labels";

type Mode = "open" | "editing" | "rejecting" | "allowing";

export function ApprovalCard({ item, over = false }: { item: ApprovalItem; over?: boolean }): JSX.Element {
  if (item.decision !== "" || over) return <DecidedApproval item={item} />;
  return item.subject === "question" ? <OpenQuestion item={item} /> : <OpenApproval item={item} />;
}

function OpenQuestion({ item }: { item: ApprovalItem }): JSX.Element {
  const [text, setText] = useState("");
  const isSending = decisionQueue.pendingIds.value.has(item.id);
  const submit = (decision: "answer" | "reject", reason = ""): void =>
    void decideApproval({ approval_id: item.id, session_id: item.sessionId, decision, ...(reason === "" ? {} : { reason }) });
  return (
    <div class="approval question" role="group" aria-label={t("A question")}>
      <header>
        <h3>{t("A question")}</h3>
        <Countdown until={item.expiresAt} />
      </header>
      <EscalationReason item={item} />
      <p class="preview" lang="en">{escapeControls(withoutEscalation(item.fullPreview || item.preview, item.escalation))}</p>
      {item.isCut && <p class="hint" role="alert">{t("A part of this could not be loaded. Reload the page before you answer it.")}</p>}
      <div class="buttons">
        {listChoices(item).map((choice) => (
          <button type="button" key={choice} disabled={isSending || item.isCut} onClick={() => submit("answer", choice)}>{toOneLine(choice, 200)}</button>
        ))}
      </div>
      <form
        class="reject"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== "") submit("answer", text.trim());
        }}
      >
        <label>
          {t("Your answer")}
          <input value={text} maxLength={2000} disabled={isSending} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <div class="buttons">
          <button type="submit" class="primary" disabled={isSending || item.isCut || text.trim() === ""}>{t("Answer")}</button>
          <button type="button" disabled={isSending} onClick={() => submit("reject")}>{t("Cancel")}</button>
          {isSending && connectionState.value !== "open" && <p class="hint" role="status">{t("Your answer will be sent after reconnecting.")}</p>}
        </div>
      </form>
    </div>
  );
}

/** Returns the answers to choose from; none if the person writes one. */
function listChoices(item: ApprovalItem): string[] {
  const choices = item.arguments["choices"];
  return Array.isArray(choices) ? [...new Set(choices.filter((each): each is string => typeof each === "string"))] : [];
}

function OpenApproval({ item }: { item: ApprovalItem }): JSX.Element {
  const [mode, setMode] = useState<Mode>("open");
  const [reason, setReason] = useState("");
  const [shown, setShown] = useState(item.fullPreview === "");
  const isSending = decisionQueue.pendingIds.value.has(item.id);
  const submit = (decision: ApprovalDecision["decision"], more: Pick<ApprovalDecision, "arguments" | "reason" | "grant"> = {}): void =>
    void decideApproval({ approval_id: item.id, session_id: item.sessionId, decision, ...more });
  const mayApprove = !item.needsOperator || currentUser.value?.operator === true;
  const title = item.subject === "plan" ? t("Run this plan?") : t("Run {tool}?", { tool: toOneLine(item.tool, 60) });
  return (
    <div class="approval" role="group" aria-label={title}>
      <header>
        <h3>{title}</h3>
        <span class={`risk ${item.risk}`}>{riskLabel(item.risk)}</span>
        <Countdown until={item.expiresAt} />
      </header>
      <EscalationReason item={item} />
      <p class="preview" lang="en">{escapeControls(withoutEscalation(item.preview, item.escalation))}</p>
      {item.fullPreview !== "" && (
        <Disclosure class="full-preview" summary={<span>{t("Show everything ({count} characters)", { count: formatNumber(item.fullPreview.length) })}</span>}>
          {() => <FullPreview text={withoutEscalation(item.fullPreview, item.escalation)} onShown={() => setShown(true)} />}
        </Disclosure>
      )}
      {item.needsOperator && <p class="hint" role="status">{mayApprove ? t("Needs an operator: the person who asked cannot approve it.") : t("Waiting for an operator. You can reject it, but not approve it.")}</p>}
      {item.isCut && <p class="hint" role="alert">{t("A part of this could not be loaded. Reload the page before you approve it.")}</p>}
      {mayApprove && !shown && <p class="hint">{t("You can approve it after you have opened everything.")}</p>}
      {!isSending && mode === "editing" ? (
        <ArgumentsForm tool={item.tool} arguments={item.arguments} onDone={(changed) => submit("edit", { arguments: changed })} onCancel={() => setMode("open")} />
      ) : !isSending && mode === "rejecting" ? (
        <form
          class="reject"
          onKeyDown={(event) => event.key === "Escape" && setMode("open")}
          onSubmit={(event) => {
            event.preventDefault();
            submit("reject", reason.trim() === "" ? {} : { reason: reason.trim() });
          }}
        >
          <label>
            {t("Reason, sent to the agent")} <span class="hint">{t("(optional)")}</span>
            <input value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} ref={focusElement} />
          </label>
          <div class="buttons">
            <button type="submit" class="danger">{t("Reject")}</button>
            <button type="button" onClick={() => setMode("open")}>{t("Back")}</button>
          </div>
        </form>
      ) : mode === "allowing" ? (
        <div class="allow" onKeyDown={(event) => event.key === "Escape" && setMode("open")}>
          <p class="hint">{t("This runs the call, and later without a question:")}</p>
          <p class="preview" lang="en">{escapeControls(item.grantOffer)}</p>
          <div class="buttons">
            <button type="button" class="primary" ref={focusElement} onClick={() => submit("approve", { grant: "session" })}>{t("Allow for this conversation")}</button>
            <button type="button" onClick={() => submit("approve", { grant: "always" })}>{t("Always allow")}</button>
            <button type="button" onClick={() => setMode("open")}>{t("Back")}</button>
          </div>
        </div>
      ) : (
        <div class="buttons">
          {mayApprove && <button type="button" class={item.risk === "critical" ? "danger" : "primary"} disabled={isSending || !shown || item.isCut} onClick={() => submit("approve")}>{item.risk === "critical" ? t("Approve critical call") : t("Approve")}</button>}
          {mayApprove && item.editable && <button type="button" disabled={isSending || item.isCut} onClick={() => setMode("editing")}>{t("Edit…")}</button>}
          {mayApprove && item.grantOffer !== "" && <button type="button" disabled={isSending || !shown || item.isCut} onClick={() => setMode("allowing")}>{t("Allow more…")}</button>}
          <button type="button" disabled={isSending} onClick={() => setMode("rejecting")}>{t("Reject…")}</button>
          {isSending && connectionState.value !== "open" && <p class="hint" role="status">{t("Your decision will be sent after reconnecting.")}</p>}
        </div>
      )}
    </div>
  );
}

function DecidedApproval({ item }: { item: ApprovalItem }): JSX.Element {
  return (
    <Disclosure
      class={`decided ${item.decision || "none"}`}
      summary={
        <span>{describeDecision(item)}</span>
      }
    >
      {() => (
        <>
          <EscalationReason item={item} />
          <p class="preview" lang="en">{escapeControls(withoutEscalation(item.fullPreview || item.preview, item.escalation))}</p>
          {item.editedArguments !== null && <EditedArguments before={item.arguments} after={item.editedArguments} />}
        </>
      )}
    </Disclosure>
  );
}

/** Says what was decided, by whom and why. */
function describeDecision(item: ApprovalItem): string {
  const what = item.subject === "plan" ? t("The plan") : item.subject === "question" ? t("The question") : toOneLine(item.tool, 60);
  if (item.decision === "") return t("{what} was not decided before the turn ended", { what });
  if (item.decidedBy === "expiry") return t("{what} was not decided in time", { what });
  const values = { what, user: toOneLine(item.decidedBy, 60), decision: item.decision };
  const reason = item.reason ? `: ${toOneLine(item.reason, 200)}` : "";
  return `${DECISIONS[item.decision]?.(values) ?? t("{what}: {decision} by {user}", values)}${reason}`;
}

const DECISIONS: Record<string, (values: { what: string; user: string }) => string> = {
  approve: (values) => t("{what} was approved by {user}", values),
  edit: (values) => t("{what} was approved with changes by {user}", values),
  reject: (values) => t("{what} was rejected by {user}", values),
  answer: (values) => t("{what} was answered by {user}", values),
};

function EscalationReason({ item }: { item: ApprovalItem }): JSX.Element | null {
  if (item.escalation === null) return null;
  return (
    <p class="guard-asks">
      <GuardReason verb={t("asks")} {...item.escalation} />
    </p>
  );
}

/** Returns the preview without the line that says why a guard asks. Lines of arguments are indented, so none is taken for it. */
function withoutEscalation(preview: string, escalation: EscalationDetail | null): string {
  if (escalation === null) return preview;
  return preview.split("\n").filter((line) => !line.startsWith(`${escalation.guard} asks: `)).join("\n");
}

/** The arguments with which an edited call ran; what the person changed is marked. */
function EditedArguments({ before, after }: { before: Arguments; after: Arguments }): JSX.Element {
  return (
    <>
      <p class="hint">{t("The call runs with these arguments; changed ones are marked.")}</p>
      <dl class="edited">
        {Object.entries(after).map(([name, value]) => (
          <div key={name} class={formatValue(before[name]) === formatValue(value) ? "" : "changed"}>
            <dt>{toOneLine(name, 60)}</dt>
            <dd>{formatValue(before[name]) === formatValue(value) ? escapeControls(formatValue(value)) : <ins>{escapeControls(formatValue(value))}</ins>}</dd>
          </div>
        ))}
        {Object.keys(before).filter((name) => !(name in after)).map((name) => (
          <div key={name} class="changed">
            <dt>{toOneLine(name, 60)}</dt>
            <dd><del>{escapeControls(formatValue(before[name]))}</del></dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** The complete text; reports that it is on the page, so that it can be approved. */
function FullPreview({ text, onShown }: { text: string; onShown: () => void }): JSX.Element {
  useEffect(onShown, []);
  return <p class="preview" lang="en">{escapeControls(text)}</p>;
}

function Countdown({ until }: { until: string | null }): JSX.Element | null {
  const now = useNow(1000, until !== null);
  if (until === null) return null;
  const left = Date.parse(until) - now - clockSkewMs;
  return (
    <span class={left < 30_000 ? "countdown soon" : "countdown"} role="timer">
      {left > 0 ? t("expires in {left}", { left: formatDuration(Math.floor(left / 1000) * 1000) }) : t("expires now")}
    </span>
  );
}

function focusElement(element: HTMLElement | null): void {
  element?.focus();
}
