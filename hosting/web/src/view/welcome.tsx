// The first thing that somebody sees: what this is, and something to try.
import type { JSX } from "preact";
import { chain, offlineOnly, providers, say } from "../model/app";
import { layerOf } from "../model/layers";

const TRIES = [
  "What is 17 * 23, and what day is it today?",
  "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise both in three steps",
  "Run the command: uname -a",
];

export function Welcome(): JSX.Element {
  const models = providers.value.flatMap((provider) => provider.models.map(({ model }) => `${provider.provider}/${model}`));
  return (
    <section class="welcome">
      <h2>What shall be done?</h2>
      <p>
        Every message travels through a chain of middlewares: outside, once per turn, those that keep the conversation, the budget and the plan;
        inside, again and again, those that ask the model, ask you, and run tools. You see each of them at work.
      </p>
      {chain.value && (
        <ol class="strip ahead" aria-label="The chain of middlewares">
          {chain.value.middlewares.map(({ name, zone }, index, all) => (
            <li key={name} title={`${name}: ${layerOf(name).does}`} class={index > 0 && all[index - 1]?.zone !== zone ? "begins" : undefined}>
              <span class="dot" aria-hidden="true" />
              <span class="layer">{layerOf(name).label}</span>
            </li>
          ))}
        </ol>
      )}
      {offlineOnly.value ? (
        <p class="offline">
          <strong>This host has no model yet.</strong> The offline model answers by rules, without a key or a network, and uses real tools: enough to
          see how everything works. For a real one, set <code>OPENAI_API_KEY</code> or <code>ANTHROPIC_API_KEY</code>, or start Ollama, and start the
          host again.
        </p>
      ) : (
        models.length > 0 && <p class="hint">Answers: {models.join(", ")}</p>
      )}
      <ul class="tries" aria-label="Something to try">
        {TRIES.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => say(text)}>{text}</button>
          </li>
        ))}
      </ul>
    </section>
  );
}
