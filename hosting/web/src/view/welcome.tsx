// Welcome screen of a new session: introduction, middleware chain, and example messages.
import type { JSX } from "preact";
import { chain, isOfflineOnly, providers, sendMessage, startOffTheRecord } from "../model/app-state";
import { route } from "../model/router";
import { middlewareLabel } from "../model/middleware-labels";

const EXAMPLES = [
  "What is 17 * 23, and what day is it today?",
  "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise both in three steps",
  "Run the command: uname -a",
];

export function Welcome(): JSX.Element {
  const models = providers.value.flatMap((provider) => provider.models.map(({ model }) => `${provider.provider}/${model}`));
  return (
    <section class="welcome">
      <h2>What would you like to do?</h2>
      <p>
        Every message passes through a chain of middlewares: the outer ones run once per turn and handle the session, the budget and the plan; the
        inner ones run in every round and call the model, ask for approval, and run tools. The page shows which of them are active.
      </p>
      {chain.value && (
        <ol class="strip ahead" aria-label="The chain of middlewares">
          {chain.value.middlewares.map(({ name, zone }, index, all) => (
            <li key={name} title={`${name}: ${middlewareLabel(name).description}`} class={index > 0 && all[index - 1]?.zone !== zone ? "zone-start" : undefined}>
              <span class="dot" aria-hidden="true" />
              <span class="layer">{middlewareLabel(name).label}</span>
            </li>
          ))}
        </ol>
      )}
      {isOfflineOnly.value ? (
        <p class="offline">
          <strong>This host has no model yet.</strong> The offline model answers by rules, without a key or a network, and uses real tools: enough to
          see how everything works. For a real model, set <code>OPENAI_API_KEY</code> or <code>ANTHROPIC_API_KEY</code>, or start Ollama, and restart the
          host.
        </p>
      ) : (
        models.length > 0 && <p class="hint">Models: {models.join(", ")}</p>
      )}
      <ul class="examples" aria-label="Examples">
        {EXAMPLES.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => sendMessage(text)}>{text}</button>
          </li>
        ))}
      </ul>
      {route.value.page === "new" && (
        <p class="hint">
          <button type="button" class="quiet" onClick={() => void startOffTheRecord()}>Talk off the record</button>{" "}
          Nothing is stored, and tools only read.
        </p>
      )}
    </section>
  );
}
