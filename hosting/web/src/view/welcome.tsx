// Welcome screen of a new session: introduction, middleware chain, and example messages.
import type { JSX } from "preact";
import { chain, currentUser, isOfflineOnly, providers, sendMessage, startOffTheRecord } from "../model/app-state";
import { route, routeUrl } from "../model/router";
import { stripParts } from "../model/middleware-labels";
import { rich, t } from "../text/translate";

const EXAMPLES = [
  () => t("What is 17 * 23, and what day is it today?"),
  () => t("First write down that my cat is called Ada, then look up what you know about cats, and finally summarise both in three steps"),
  () => t("Run the command: uname -a"),
];

export function Welcome(): JSX.Element {
  const models = providers.value.flatMap((provider) => provider.models.map(({ model }) => `${provider.provider}/${model}`));
  return (
    <section class="welcome">
      <h2>{t("What would you like to do?")}</h2>
      <p>
        {t("Every message passes through a chain of middlewares: the outer ones run once per turn and handle the session, the budget and the plan; the inner ones run in every round and call the model, ask for approval, and run tools. The page shows which of them are active.")}
      </p>
      {chain.value && (
        <ol class="strip ahead" aria-label={t("The chain of middlewares")}>
          {stripParts(chain.value.middlewares).map(({ names, zone, label, description }, index, all) => (
            <li key={names.join()} title={`${names.join(", ")}: ${description}`} class={index > 0 && all[index - 1]?.zone !== zone ? "zone-start" : undefined}>
              <span class="dot" aria-hidden="true" />
              <span class="layer">{label}</span>
            </li>
          ))}
        </ol>
      )}
      {isOfflineOnly.value ? (
        <p class="offline">
          {currentUser.value?.operator ? (
            rich("{state} The offline model answers by rules, without a key or a network, and uses real tools: enough to see how everything works. {setup} takes a key.", { state: <strong>{t("This host has no model yet.")}</strong>, setup: <a href={routeUrl({ page: "setup" })}>{t("Set up a model")}</a> })
          ) : (
            rich("{state} The offline model answers by rules, without a key or a network, and uses real tools: enough to see how everything works. An operator can set up a model.", { state: <strong>{t("This host has no model yet.")}</strong> })
          )}
        </p>
      ) : (
        models.length > 0 && <p class="hint">{t("Models: {models}", { models: models.join(", ") })}</p>
      )}
      <ul class="examples" aria-label={t("Examples")}>
        {EXAMPLES.map((each) => each()).map((text) => (
          <li key={text}>
            <button type="button" onClick={() => sendMessage(text)}>{text}</button>
          </li>
        ))}
      </ul>
      {route.value.page === "new" && (
        <p class="hint off-the-record">
          {rich("{begin} Nothing is stored, and tools only read.", { begin: <button type="button" class="quiet" onClick={() => void startOffTheRecord()}>{t("Talk off the record")}</button> })}
        </p>
      )}
    </section>
  );
}
