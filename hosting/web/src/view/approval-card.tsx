// Card of an approval: preview, the complete text, risk, countdown, and the decision.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { currentUser, decideApproval } from "../model/app-state";
import type { ApprovalItem } from "../model/turn-reducer";
import { formatDuration } from "../text/format";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { clockSkewMs } from "../wire/http-api";
import { ArgumentsForm } from "./arguments-form";
import { Disclosure, useNow } from "./controls";

type Mode = "open" | "editing" | "rejecting" | "sending";

export function ApprovalCard({ item, over = false }: { item: ApprovalItem; over?: boolean }): JSX.Element {
  if (item.decision !== "" || over) return <DecidedApproval item={item} />;
  return <OpenApproval item={item} />;
}

function OpenApproval({ item }: { item: ApprovalItem }): JSX.Element {
  const [mode, setMode] = useState<Mode>("open");
  const [reason, setReason] = useState("");
  const [shown, setShown] = useState(item.fullPreview === "");
  const submit = async (decision: Parameters<typeof decideApproval>[1], more: Parameters<typeof decideApproval>[2] = {}): Promise<void> => {
    const previous = mode;
    setMode("sending");
    if (!(await decideApproval(item.id, decision, more))) setMode(previous);
  };
  const mayApprove = !item.needsOperator || currentUser.value?.operator === true;
  const title = item.subject === "plan" ? "Run this plan?" : `Run ${toOneLine(item.tool, 60)}?`;
  return (
    <section class="approval" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class={`risk ${item.risk}`}>{item.risk} risk</span>
        <Countdown until={item.expiresAt} />
      </header>
      <p class="preview">{escapeControls(item.preview)}</p>
      {item.fullPreview !== "" && (
        <Disclosure class="full-preview" summary={<span>Show everything ({item.fullPreview.length.toLocaleString("en")} characters)</span>}>
          {() => <FullPreview text={item.fullPreview} onShown={() => setShown(true)} />}
        </Disclosure>
      )}
      {item.needsOperator && <p class="hint" role="status">{mayApprove ? "Needs an operator: the person who asked cannot approve it." : "Waiting for an operator. You can reject it, but not approve it."}</p>}
      {item.isCut && <p class="hint" role="alert">A part of this could not be loaded. Reload the page before you approve it.</p>}
      {mayApprove && !shown && <p class="hint">You can approve it after you have opened everything.</p>}
      {mode === "editing" ? (
        <ArgumentsForm tool={item.tool} arguments={item.arguments} onDone={(changed) => void submit("edit", { arguments: changed })} onCancel={() => setMode("open")} />
      ) : mode === "rejecting" ? (
        <form
          class="reject"
          onKeyDown={(event) => event.key === "Escape" && setMode("open")}
          onSubmit={(event) => {
            event.preventDefault();
            void submit("reject", reason.trim() === "" ? {} : { reason: reason.trim() });
          }}
        >
          <label>
            Reason, sent to the agent <span class="hint">(optional)</span>
            <input value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} ref={focusElement} />
          </label>
          <div class="buttons">
            <button type="submit" class="danger">Reject</button>
            <button type="button" onClick={() => setMode("open")}>Back</button>
          </div>
        </form>
      ) : (
        <div class="buttons">
          {mayApprove && <button type="button" class="primary" disabled={mode === "sending" || !shown || item.isCut} onClick={() => void submit("approve")}>Approve</button>}
          {mayApprove && item.editable && <button type="button" disabled={mode === "sending" || item.isCut} onClick={() => setMode("editing")}>Edit…</button>}
          <button type="button" disabled={mode === "sending"} onClick={() => setMode("rejecting")}>Reject…</button>
        </div>
      )}
    </section>
  );
}

function DecidedApproval({ item }: { item: ApprovalItem }): JSX.Element {
  const words: Record<string, string> = { approve: "approved", edit: "approved with changes", reject: "rejected" };
  const expired = item.decidedBy === "expiry";
  const outcome = item.decision === "" ? "not decided before the turn ended" : expired ? "not decided in time" : `${words[item.decision] ?? item.decision} by ${toOneLine(item.decidedBy, 60)}`;
  const what = item.subject === "plan" ? "The plan" : toOneLine(item.tool, 60);
  return (
    <Disclosure
      class={`decided ${item.decision || "none"}`}
      summary={
        <span>
          {what} was {outcome}
          {item.reason && !expired ? `: ${toOneLine(item.reason, 200)}` : ""}
        </span>
      }
    >
      {() => <p class="preview">{escapeControls(item.fullPreview || item.preview)}</p>}
    </Disclosure>
  );
}

/** The complete text; reports that it is on the page, so that it can be approved. */
function FullPreview({ text, onShown }: { text: string; onShown: () => void }): JSX.Element {
  useEffect(onShown, []);
  return <p class="preview">{escapeControls(text)}</p>;
}

function Countdown({ until }: { until: string | null }): JSX.Element | null {
  const now = useNow(1000, until !== null);
  if (until === null) return null;
  const left = Date.parse(until) - now - clockSkewMs;
  return (
    <span class={left < 30_000 ? "countdown soon" : "countdown"} role="timer">
      {left > 0 ? `expires in ${formatDuration(Math.floor(left / 1000) * 1000)}` : "expires now"}
    </span>
  );
}

function focusElement(element: HTMLElement | null): void {
  element?.focus();
}
