// What waits for a decision: of one's own sessions, and for an operator of all.
import type { JSX } from "preact";
import { approvals, me, titleOf, UNTITLED } from "../model/app";
import { addressOf } from "../model/route";
import type { ApprovalInfo } from "../wire/protocol";
import type { ApprovalItem } from "../model/turn";
import { onOneLine } from "../text/visible";
import { Approval } from "./approval";

export function Inbox(): JSX.Element {
  const open = approvals.value;
  return (
    <section class="sheet-page">
      <h2>Decisions</h2>
      <p class="hint">
        {me.value?.operator ? "What waits in the conversations of everybody on this host." : "What waits in your conversations."} Whoever decides
        first decides.
      </p>
      {open.length === 0 && <p class="empty">Nothing waits for a decision.</p>}
      {open.map((each) => (
        <article key={each.approval_id} class="waiting-one">
          <p class="from">
            in <a href={addressOf({ page: "session", id: each.session_id })}>{onOneLine(nameOf(each.session_id), 60)}</a>
          </p>
          <Approval item={itemOf(each)} />
        </article>
      ))}
    </section>
  );
}

/** By its title, or while it has none by its id, so that two of them can be told apart. */
function nameOf(session: string): string {
  const title = titleOf(session);
  return title === UNTITLED ? session : title;
}

function itemOf(each: ApprovalInfo): ApprovalItem {
  return {
    kind: "approval",
    key: each.approval_id,
    id: each.approval_id,
    about: each.kind,
    tool: each.tool,
    risk: each.risk,
    arguments: each.arguments,
    preview: each.preview,
    editable: each.editable,
    expiresAt: each.expires_at,
    decision: each.decision ?? "",
    decidedBy: each.decided_by ?? "",
    reason: each.reason ?? "",
  };
}
