// Approvals in advance: what is allowed without a question, each with a button that revokes it.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { approvals, currentUser } from "../../model/app-state";
import { loadGrants, revokeGrant } from "./grants";
import { escapeControls, toOneLine } from "../../text/escape-controls";
import { t } from "../../text/translate";
import type { GrantView } from "../../wire/types";
import { ActionButton } from "../../view/controls";
import { formatDate } from "../../text/format";

export function GrantsPanel(): JSX.Element | null {
  const [grants, setGrants] = useState<readonly GrantView[]>([]);
  const refresh = async (): Promise<void> => setGrants(await loadGrants(currentUser.value?.operator === true));
  useEffect(() => void refresh(), [approvals.value]);
  if (grants.length === 0) return null;
  const revoke = async (id: string): Promise<void> => {
    await revokeGrant(id);
    await refresh();
  };
  return (
    <>
      <h3>{t("Allowed without a question")}</h3>
      <table class="plain" aria-label={t("Allowed without a question")}>
        <tbody>
          {grants.map((each) => (
            <tr key={each.grant_id}>
              <td>
                <p class="preview" lang="en">{escapeControls(each.covers)}</p>
                <p class="hint">
                  {describeGrant(each)}
                </p>
              </td>
              <td>
                <ActionButton label={t("Revoke {tool}", { tool: toOneLine(each.tool, 60) })} action={() => revoke(each.grant_id)}>
                  {t("Revoke")}
                </ActionButton>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function describeGrant(grant: GrantView): string {
  const values = { user: toOneLine(grant.user, 60), granted_by: toOneLine(grant.granted_by, 60), date: formatDate(grant.expires_at) };
  if (grant.session_id === null) return t("{user} in all conversations, allowed by {granted_by} until {date}", values);
  return t("{user} in the conversation {session}, allowed by {granted_by} until {date}", { ...values, session: toOneLine(grant.session_id, 60) });
}
