// Sign-in form with a token, for hosts with configured users.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { signInMessage, signInWithToken } from "../model/app-state";
import { t } from "../text/translate";
import { LanguageSelect } from "./language-select";

export function SignIn(): JSX.Element {
  const [token, setToken] = useState("");
  const [stay, setStay] = useState(false);
  const [busy, setBusy] = useState(false);
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setBusy(true);
          void signInWithToken(token.trim(), stay).finally(() => setBusy(false));
        }}
      >
        <img src="/assets/icon.svg" alt="" width="40" height="40" />
        <h1>Sophon</h1>
        <label>
          {t("Token")}
          <input type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} autofocus required />
        </label>
        {signInMessage.value !== "" && <p class="problem" role="alert">{signInMessage.value}</p>}
        <label class="check">
          <input type="checkbox" checked={stay} onChange={(event) => setStay(event.currentTarget.checked)} /> {t("Stay signed in on this device")}
        </label>
        <button type="submit" class="primary" disabled={busy || token.trim() === ""}>{t("Sign in")}</button>
        <p class="hint">{t("The operator of this host gives you the token (Hub.Users in the settings).")}</p>
        <LanguageSelect />
      </form>
    </main>
  );
}
