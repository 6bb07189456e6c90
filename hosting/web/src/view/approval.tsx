// A decision to take: what the host says of it, the real arguments, the risk, the time that is left.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { decide } from "../model/app";
import type { ApprovalItem } from "../model/turn";
import { duration } from "../text/format";
import { onOneLine, visible } from "../text/visible";
import { skew } from "../wire/api";
import { ArgumentsForm } from "./arguments-form";
import { Fold, useNow } from "./parts";

type Mode = "asks" | "edits" | "rejects" | "sends";

export function Approval({ item, over = false }: { item: ApprovalItem; over?: boolean }): JSX.Element {
  if (item.decision !== "" || over) return <Decided item={item} />;
  return <Open item={item} />;
}

function Open({ item }: { item: ApprovalItem }): JSX.Element {
  const [mode, setMode] = useState<Mode>("asks");
  const [reason, setReason] = useState("");
  const sending = async (what: Parameters<typeof decide>[1], more: Parameters<typeof decide>[2] = {}): Promise<void> => {
    const before = mode;
    setMode("sends");
    if (!(await decide(item.id, what, more))) setMode(before);
  };
  const title = item.about === "plan" ? "May this plan be carried out?" : item.about === "question" ? "A question to you" : `May ${onOneLine(item.tool, 60)} run?`;
  return (
    <section class="approval" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class={`risk ${item.risk}`}>{item.risk} risk</span>
        <Countdown until={item.expiresAt} />
      </header>
      {item.about === "plan" ? (
        <Fold class="exact" summary={<span>The plan in words</span>}>
          {() => <p class="preview">{visible(item.preview)}</p>}
        </Fold>
      ) : (
        <p class="preview">{visible(item.preview)}</p>
      )}
      {item.about !== "plan" && mode !== "edits" && (
        <Fold class="exact" summary={<span>The arguments in full</span>}>
          {() => <Arguments item={item} />}
        </Fold>
      )}
      {mode === "edits" ? (
        <ArgumentsForm tool={item.tool} arguments={item.arguments} onDone={(changed) => void sending("edit", { arguments: changed })} onCancel={() => setMode("asks")} />
      ) : mode === "rejects" ? (
        <form
          class="reject"
          onKeyDown={(event) => event.key === "Escape" && setMode("asks")}
          onSubmit={(event) => {
            event.preventDefault();
            void sending("reject", reason.trim() === "" ? {} : { reason: reason.trim() });
          }}
        >
          <label>
            Why not? The agent reads this. <span class="hint">(may be left out)</span>
            <input value={reason} maxLength={1000} onInput={(event) => setReason(event.currentTarget.value)} ref={focused} />
          </label>
          <div class="buttons">
            <button type="submit" class="danger">Reject</button>
            <button type="button" onClick={() => setMode("asks")}>Back</button>
          </div>
        </form>
      ) : (
        <div class="buttons">
          <button type="button" class="primary" disabled={mode === "sends"} onClick={() => void sending("approve")}>Approve</button>
          {item.editable && <button type="button" disabled={mode === "sends"} onClick={() => setMode("edits")}>Edit…</button>}
          <button type="button" disabled={mode === "sends"} onClick={() => setMode("rejects")}>Reject…</button>
        </div>
      )}
    </section>
  );
}

function Decided({ item }: { item: ApprovalItem }): JSX.Element {
  const words: Record<string, string> = { approve: "approved", edit: "approved with changes", reject: "rejected" };
  const expired = item.decidedBy === "expiry";
  const said = item.decision === "" ? "not decided: the turn ended before" : expired ? "expired: nobody decided in time" : `${words[item.decision] ?? item.decision} by ${onOneLine(item.decidedBy, 60)}`;
  const what = item.about === "plan" ? "The plan" : onOneLine(item.tool, 60);
  return (
    <Fold
      class={`decided ${item.decision || "none"}`}
      summary={
        <span>
          {what} was {said}
          {item.reason && !expired ? `: ${onOneLine(item.reason, 200)}` : ""}
        </span>
      }
    >
      {() => (
        <>
          <p class="preview">{visible(item.preview)}</p>
          {item.about !== "plan" && <Arguments item={item} />}
        </>
      )}
    </Fold>
  );
}

function Arguments({ item }: { item: ApprovalItem }): JSX.Element {
  return (
    <dl class="given">
      {Object.entries(item.arguments).map(([name, value]) => (
        <div key={name}>
          <dt>{visible(name)}</dt>
          <dd>{visible(typeof value === "string" ? value : JSON.stringify(value, null, 2))}</dd>
        </div>
      ))}
    </dl>
  );
}

function Countdown({ until }: { until: string | null }): JSX.Element | null {
  const now = useNow(1000, until !== null);
  if (until === null) return null;
  const left = Date.parse(until) - now - skew;
  return (
    <span class={left < 30_000 ? "countdown soon" : "countdown"} role="timer">
      {left > 0 ? `expires in ${duration(Math.floor(left / 1000) * 1000)}` : "expires now"}
    </span>
  );
}

function focused(element: HTMLElement | null): void {
  element?.focus();
}
