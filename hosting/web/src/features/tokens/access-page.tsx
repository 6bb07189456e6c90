// Users and tokens: who may use this host, and API tokens to make and revoke.
import { definePage } from "../../model/page";
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { toOneLine } from "../../text/escape-controls";
import { formatDate, formatTime } from "../../text/format";
import { rich, t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { createToken, listTokens, listUsers, revokeToken } from "../../wire/operations";
import type { ListedToken, UserView } from "../../wire/types";
import { ActionButton, CopyButton } from "../../view/controls";
import { EmptyState, useLoaded } from "../../view/loaded-items";
import { OperatorNav } from "../../view/operator-nav";

export const accessPage = definePage({ name: "access", title: () => t("Users and tokens"), icon: null, View: AccessPage });

function AccessPage(): JSX.Element {
  const [users] = useLoaded(listUsers, {});
  const [tokens, reload] = useLoaded(listTokens, {});
  const owners = users?.items.filter((user) => user.can_have_tokens) ?? [];
  return (
    <section class="info-page">
      <OperatorNav />
      <h2>{t("Users and tokens")}</h2>
      <p class="hint">{rich("Users are in {setting} of the settings; a token lets a program act for one of them, with less than the user may do.", { setting: <code>Hub.Users</code> })}</p>
      <h3>{t("Users")}</h3>
      <div class="wide-table" tabIndex={0} role="region" aria-label={t("Users")}>
        <table class="plain">
          <thead>
            <tr><th scope="col">{t("User")}</th><th scope="col">{t("Level")}</th><th scope="col">{t("Operator")}</th></tr>
          </thead>
          <tbody>
            {users?.items.map((user) => (
              <tr key={user.principal}>
                <th scope="row">{toOneLine(user.user, 60)}</th>
                <td>{toOneLine(user.level, 30)}</td>
                <td>{user.operator ? t("yes") : t("no")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <h3>{t("Tokens")}</h3>
      {users !== null && owners.length === 0 && (
        <EmptyState title={t("This host has no users.")}>{t("Everybody on this machine has access. Tokens belong to users: add some to the settings, and restart the host.")}</EmptyState>
      )}
      {users !== null && owners.length > 0 && <NewToken users={owners} scopes={users.scopes} onMade={reload} />}
      {owners.length > 0 && tokens?.items.length === 0 && <EmptyState title={t("No tokens.")}>{t("Make one above for a script or another program; it is shown once.")}</EmptyState>}
      <ul class="rows">{tokens?.items.map((token) => <Entry key={token.id} token={token} onChange={reload} />)}</ul>
    </section>
  );
}

function NewToken({ users, scopes, onMade }: { users: UserView[]; scopes: string[]; onMade: () => void }): JSX.Element {
  const [user, setUser] = useState(users[0]?.user ?? "");
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [chosen, setChosen] = useState<readonly string[]>(["Read"]);
  const [secret, setSecret] = useState<string | null>(null);
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    setSecret(null);
    await reportErrors(async () => {
      const made = await call(createToken, { user, name, scopes: [...chosen], days: days === "" ? null : Number(days) });
      setSecret(made.token);
      setName("");
      onMade();
    });
  };
  const toggle = (scope: string): void => setChosen(chosen.includes(scope) ? chosen.filter((each) => each !== scope) : [...chosen, scope]);
  const isOperator = users.find((each) => each.user === user)?.operator === true;
  return (
    <>
      <form class="new-row" onSubmit={(event) => void make(event)}>
        <label>
          {t("User")}
          <select value={user} onChange={(event) => setUser(event.currentTarget.value)}>
            {users.map((each) => <option key={each.user} value={each.user}>{toOneLine(each.user, 60)}</option>)}
          </select>
        </label>
        <label>
          {t("What it is for")}
          <input value={name} maxLength={100} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          {t("Days until it expires")} <span class="hint">{t("(empty: never)")}</span>
          <input type="number" min={1} max={3650} value={days} onInput={(event) => setDays(event.currentTarget.value)} />
        </label>
        <fieldset class="scopes">
          <legend>{t("What it may be used for")}</legend>
          {scopes.filter((scope) => isOperator || scope !== "Operator").map((scope) => (
            <label key={scope}>
              <input type="checkbox" checked={chosen.includes(scope)} onChange={() => toggle(scope)} /> <code>{scope}</code>
            </label>
          ))}
        </fieldset>
        <button type="submit" class="primary" disabled={chosen.length === 0}>{t("Make a token")}</button>
      </form>
      {secret !== null && (
        <div class="new-secret" role="status">
          <p>{t("Copy the token now: it is not shown again.")}</p>
          <code>{secret}</code> <CopyButton text={secret} label={t("Copy the token")} />
        </div>
      )}
    </>
  );
}

const STATES: Readonly<Record<string, () => string>> = { valid: () => t("valid"), expired: () => t("expired"), revoked: () => t("revoked") };

function Entry({ token, onChange }: { token: ListedToken; onChange: () => void }): JSX.Element {
  const name = toOneLine(token.name === "" ? token.id : token.name, 60);
  const revoke = async (): Promise<void> => {
    if (await reportErrors(() => call(revokeToken, { token_id: token.id }))) onChange();
  };
  const expiry = token.expires_at === null ? t("does not expire") : t("until {date}", { date: formatDate(token.expires_at) });
  const use = token.last_used_at === null ? t("never used") : t("last used {time}", { time: formatTime(token.last_used_at) });
  return (
    <li>
      <p>
        <strong>{name}</strong> <span class="hint">{toOneLine(token.user, 60)}</span> <code>{toOneLine(token.scopes.join(" "), 200)}</code>
      </p>
      <div class="row-end">
        <span class="hint">{[STATES[token.status]?.() ?? token.status, expiry, use].join(" · ")}</span>
        {token.status === "valid" && <ActionButton label={t("Revoke: {name}", { name })} action={revoke}>{t("Revoke")}</ActionButton>}
      </div>
    </li>
  );
}
