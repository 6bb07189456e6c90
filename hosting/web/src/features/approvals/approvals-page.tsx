// Approvals page: open approvals of the user's sessions; for operators, of all sessions.
import { definePage } from "../../model/page";
import type { JSX } from "preact";
import { approvals, currentUser, sessionTitle, untitledSession } from "../../model/app-state";
import { routeUrl } from "../../model/router";
import type { ApprovalView } from "../../wire/types";
import { isCut, type ApprovalItem } from "../../model/turn-reducer";
import { toOneLine } from "../../text/escape-controls";
import { rich, t } from "../../text/translate";
import { ApprovalCard } from "../../view/approval-card";
import { GrantsPanel } from "./grants-panel";
import { EmptyState } from "../../view/loaded-items";

export const approvalsPage = definePage({ name: "approvals", title: () => t("Approvals"), icon: "inbox", View: ApprovalsPage });

function ApprovalsPage(): JSX.Element {
  const open = approvals.value;
  return (
    <section class="info-page">
      <h2>{t("Approvals")}</h2>
      <p class="hint">
        {currentUser.value?.operator ? t("Open approvals in all conversations of this host.") : t("Open approvals in your conversations.")}{" "}
        {t("The first decision wins.")}
      </p>
      {open.length === 0 && <EmptyState title={t("No open approvals.")}>{t("A call of a tool whose risk is high waits here, and in its conversation, until somebody decides.")}</EmptyState>}
      {open.map((each) => (
        <article key={each.approval_id} class="approval-entry">
          <p class="from">
            {rich("in {conversation}", { conversation: <a href={routeUrl({ page: "session", id: each.session_id })}>{toOneLine(sessionName(each.session_id), 60)}</a> })}
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
  return title === untitledSession() ? session : title;
}

function approvalItemFromInfo(each: ApprovalView): ApprovalItem {
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
