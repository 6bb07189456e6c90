// Approvals page: open approvals of the user's sessions; for operators, of all sessions.
import type { JSX } from "preact";
import { approvals, currentUser, sessionTitle, UNTITLED_SESSION } from "../model/app-state";
import { routeUrl } from "../model/router";
import type { ApprovalInfo } from "../wire/protocol";
import { isCut, type ApprovalItem } from "../model/turn-reducer";
import { toOneLine } from "../text/escape-controls";
import { ApprovalCard } from "./approval-card";
import { GrantsPanel } from "./grants-panel";

export function ApprovalsPage(): JSX.Element {
  const open = approvals.value;
  return (
    <section class="info-page">
      <h2>Approvals</h2>
      <p class="hint">
        {currentUser.value?.operator ? "Open approvals in all conversations of this host." : "Open approvals in your conversations."} The first
        decision wins.
      </p>
      {open.length === 0 && <p class="empty">No open approvals.</p>}
      {open.map((each) => (
        <article key={each.approval_id} class="approval-entry">
          <p class="from">
            in <a href={routeUrl({ page: "session", id: each.session_id })}>{toOneLine(sessionName(each.session_id), 60)}</a>
          </p>
          <ApprovalCard item={approvalItemFromInfo(each)} />
        </article>
      ))}
      <GrantsPanel />
    </section>
  );
}

/** Returns the title of a session, or its id if it has none. */
function sessionName(session: string): string {
  const title = sessionTitle(session);
  return title === UNTITLED_SESSION ? session : title;
}

function approvalItemFromInfo(each: ApprovalInfo): ApprovalItem {
  return {
    kind: "approval",
    key: each.approval_id,
    id: each.approval_id,
    sessionId: each.session_id,
    subject: each.kind,
    tool: each.tool,
    risk: each.risk,
    arguments: each.arguments,
    preview: each.preview,
    fullPreview: each.full_preview,
    isCut: isCut(each),
    editable: each.editable,
    needsOperator: each.needs_operator,
    escalation: each.escalation ?? null,
    editedArguments: each.edited_arguments ?? null,
    grantOffer: each.grant_offer,
    expiresAt: each.expires_at,
    decision: each.decision ?? "",
    decidedBy: each.decided_by ?? "",
    reason: each.reason ?? "",
  };
}
