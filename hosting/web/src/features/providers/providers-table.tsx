// Providers with their models and health; operators see what pauses a provider, until when, and can reset it.
import type { JSX } from "preact";
import { currentUser, providers } from "../../model/app-state";
import { resetProvider } from "../../model/operator-actions";
import { toOneLine } from "../../text/escape-controls";
import { describePause } from "./provider-state";
import { t } from "../../text/translate";
import type { ProviderModels } from "../../wire/types";
import { ActionButton, StatusLight } from "../../view/controls";
import { stateLabel } from "../../text/state-labels";

export function ProvidersTable(): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={t("Providers")}>
      <table class="plain">
        <thead>
          <tr>
            <th>{t("Provider")}</th>
            <th>{t("Models, and what they are good at")}</th>
            <th>{t("Health")}</th>
          </tr>
        </thead>
        <tbody>
          {providers.value.map((each) => (
            <tr key={each.provider}>
              <th scope="row">{toOneLine(each.provider, 40)}</th>
              <td>
                {each.models.map(({ model, capabilities }) => (
                  <p key={model}>
                    {toOneLine(model, 60)} <span class="hint">{toOneLine(capabilities.join(", "), 200)}</span>
                  </p>
                ))}
              </td>
              <td>
                <StatusLight good={each.health === "active"} label={stateLabel(each.health)} />
                {each.last_error ? <p class="hint" lang="en">{toOneLine(each.last_error, 200)}</p> : null}
                <ProviderPause provider={each} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ProviderPause({ provider }: { provider: ProviderModels }): JSX.Element | null {
  const lines = describePause(provider);
  if (lines.length === 0) return null;
  return (
    <>
      {lines.map((line) => (
        <p key={line} class="hint">
          {line}
        </p>
      ))}
      {currentUser.value?.operator && (
        <ActionButton label={t("Reset {provider}", { provider: toOneLine(provider.provider, 40) })} action={() => resetProvider(provider.provider)}>
          {t("Reset")}
        </ActionButton>
      )}
    </>
  );
}
