// For a host with users: whoever comes shows a token.
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { signIn, signInWith } from "../model/app";

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
          void signInWith(token.trim(), stay).finally(() => setBusy(false));
        }}
      >
        <img src="/assets/icon.svg" alt="" width="40" height="40" />
        <h1>Sophon</h1>
        <label>
          Token
          <input type="password" autocomplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} autofocus required />
        </label>
        {signIn.value !== "" && <p class="problem" role="alert">{signIn.value}</p>}
        <label class="check">
          <input type="checkbox" checked={stay} onChange={(event) => setStay(event.currentTarget.checked)} /> Stay signed in on this device
        </label>
        <button type="submit" class="primary" disabled={busy || token.trim() === ""}>Sign in</button>
        <p class="hint">Whoever runs this host has your token: it stands in the settings under Hub.Users.</p>
      </form>
    </main>
  );
}
