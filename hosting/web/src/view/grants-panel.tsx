// Approvals in advance: what is allowed without a question, each with a button that revokes it.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { approvals, currentUser } from "../model/app-state";
import { loadGrants, revokeGrant } from "../model/grants";
import { escapeControls, toOneLine } from "../text/escape-controls";
import type { GrantInfo } from "../wire/protocol";
import { ActionButton } from "./controls";

export function GrantsPanel(): JSX.Element | null {
  const [grants, setGrants] = useState<readonly GrantInfo[]>([]);
  const refresh = async (): Promise<void> => setGrants(await loadGrants(currentUser.value?.operator === true));
  useEffect(() => void refresh(), [approvals.value]);
  if (grants.length === 0) return null;
  const revoke = async (id: string): Promise<void> => {
    await revokeGrant(id);
    await refresh();
  };
  return (
    <>
      <h3>Allowed without a question</h3>
      <table class="plain" aria-label="Allowed without a question">
        <tbody>
          {grants.map((each) => (
            <tr key={each.grant_id}>
              <td>
                <p class="preview">{escapeControls(each.covers)}</p>
                <p class="hint">
                  {toOneLine(each.user, 60)} in {each.session_id === null ? "all conversations" : `the conversation ${toOneLine(each.session_id, 60)}`}, allowed by{" "}
                  {toOneLine(each.granted_by, 60)} until {each.expires_at.slice(0, 10)}
                </p>
              </td>
              <td>
                <ActionButton label={`Revoke ${toOneLine(each.tool, 60)}`} action={() => revoke(each.grant_id)}>
                  Revoke
                </ActionButton>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
