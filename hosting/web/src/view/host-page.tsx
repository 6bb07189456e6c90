// Host page (read-only): models, channels, chain and tools.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { chain, currentUser, providers, refreshHost, tools } from "../model/app-state";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { getJson } from "../wire/http-api";
import { describePause } from "../text/provider-state";
import type { ChannelInfo, DeadLetter } from "../wire/protocol";
import { Disclosure } from "./controls";

export function HostPage(): JSX.Element {
  const [channels, setChannels] = useState<ChannelInfo[] | null>(null);
  const [dead, setDead] = useState<DeadLetter[]>([]);
  useEffect(() => {
    void refreshHost();
    // For operators only; others have no list.
    getJson<{ items: DeadLetter[] }>("/api/queue/dead").then(
      ({ items }) => setDead(items),
      () => setDead([]),
    );
    getJson<{ items: ChannelInfo[] }>("/api/channels").then(
      ({ items }) => setChannels(items),
      () => setChannels([]),
    );
  }, []);
  return (
    <section class="info-page">
      <h2>This host</h2>
      <p class="hint">
        Sophon {currentUser.value?.version}. Configured in <code>appsettings.json</code>; this page is read-only.
      </p>
      <h3>Models</h3>
      <table class="plain">
        <thead>
          <tr>
            <th>Provider</th>
            <th>Models, and what they are good at</th>
            <th>Health</th>
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
                <StatusLight good={each.health === "active"} label={each.health} />
                {each.last_error ? <p class="hint">{toOneLine(each.last_error, 200)}</p> : null}
                {describePause(each).map((line) => (
                  <p key={line} class="hint">
                    {line}
                  </p>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Channels</h3>
      {channels?.length === 0 && (
        <p class="empty">No channels are configured. To add Telegram or WhatsApp, see Channels in the settings.</p>
      )}
      {channels !== null && channels.length > 0 && (
        <table class="plain">
          <tbody>
            {channels.map((each) => (
              <tr key={each.name}>
                <th scope="row">{toOneLine(each.name, 40)}</th>
                <td>
                  <StatusLight good={each.state === "running"} label={each.state} />
                  {each.detail ? <p class="hint">{toOneLine(each.detail, 300)}</p> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {dead.length > 0 && <DeadLetters letters={dead} />}
      <h3>The chain</h3>
      <pre class="chain-text" tabIndex={0} role="region" aria-label="The chain as it runs">
        {escapeControls(chain.value?.explained ?? "")}
      </pre>
      <h3>Tools</h3>
      {[...tools.value.values()].map((tool) => (
        <Disclosure
          key={tool.name}
          class="tool-call"
          summary={
            <>
              <span class="tool-name">{toOneLine(tool.name, 60)}</span>
              <span class={`risk ${tool.risk}`}>{tool.risk} risk</span>
              <span class="tool-arguments">{toOneLine(tool.description, 120)}</span>
            </>
          }
        >
          {() => (
            <>
              <p>{escapeControls(tool.description)}</p>
              <pre tabIndex={0}>{escapeControls(JSON.stringify(tool.parameters, null, 2))}</pre>
            </>
          )}
        </Disclosure>
      ))}
    </section>
  );
}

function DeadLetters({ letters }: { letters: readonly DeadLetter[] }): JSX.Element {
  return (
    <>
      <h3>Dead letters</h3>
      <p class="hint">
        Tasks that failed too often, and messages that could not be delivered. <code>sophon queue retry ID</code> tries one again.
      </p>
      <table class="plain">
        <tbody>
          {letters.map((each) => (
            <tr key={each.id}>
              <th scope="row">{toOneLine(each.id, 60)}</th>
              <td>
                {each.kind === "message" ? `to ${toOneLine(`${each.channel} ${each.chat}`, 60)}` : "task"}
                <p class="hint">
                  {toOneLine((each.created_at ?? each.died_at ?? "").slice(0, 19), 20)}
                  {each.may_have_arrived ? "; may have arrived" : ""} {toOneLine(each.error ?? "", 300)}
                </p>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function StatusLight({ good, label }: { good: boolean; label: string }): JSX.Element {
  return (
    <span class={good ? "light good" : "light"}>
      <span class="dot" aria-hidden="true" /> {toOneLine(label, 60)}
    </span>
  );
}
