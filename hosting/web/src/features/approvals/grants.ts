// Approvals in advance: list and revoke them.
import { call } from "../../wire/http-api";
import { listGrants, revokeGrant as revoke } from "../../wire/operations";
import type { GrantView } from "../../wire/types";
import { notice, reportErrors } from "../../model/app-state";
import { t } from "../../text/translate";

/** Returns the grants of the user, or of all users; none if the host cannot list them. */
export async function loadGrants(everything: boolean): Promise<readonly GrantView[]> {
  try {
    return (await call(listGrants, { everything })).items;
  } catch {
    return []; // The connection status reports an unreachable host.
  }
}

/** Revoke a grant: the calls that it covers are asked about again. */
export async function revokeGrant(id: string): Promise<void> {
  const done = await reportErrors(() => call(revoke, { grant_id: id }));
  if (done) notice.value = { text: t("It is revoked: such calls are asked about again."), isError: false };
}
