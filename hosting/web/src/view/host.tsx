// What this host is made of: to look at, not to change.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { chain, me, providers, refreshHost, tools } from "../model/app";
import { onOneLine, visible } from "../text/visible";
import { get } from "../wire/api";
import type { ChannelInfo } from "../wire/protocol";
import { Fold } from "./parts";

export function HostPage(): JSX.Element {
  const [channels, setChannels] = useState<ChannelInfo[] | null>(null);
  useEffect(() => {
    void refreshHost();
    get<{ items: ChannelInfo[] }>("/api/channels").then(
      ({ items }) => setChannels(items),
      () => setChannels([]),
    );
  }, []);
  return (
    <section class="sheet-page">
      <h2>This host</h2>
      <p class="hint">
        Sophon {me.value?.version}. All this stands in its settings (<code>appsettings.json</code>); the page only shows it.
      </p>
      <h3>Models</h3>
      <table class="plain">
        <thead>
          <tr>
            <th>Provider</th>
            <th>Models</th>
            <th>Health</th>
          </tr>
        </thead>
        <tbody>
          {providers.value.map((each) => (
            <tr key={each.provider}>
              <th scope="row">{onOneLine(each.provider, 40)}</th>
              <td>{each.models.map(({ model }) => onOneLine(model, 60)).join(", ")}</td>
              <td>
                <Light good={each.health === "active"} said={each.health} />
                {each.last_error ? <p class="hint">{onOneLine(each.last_error, 200)}</p> : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Channels</h3>
      {channels?.length === 0 && (
        <p class="empty">None besides this page and the API. Telegram and WhatsApp are set up in the settings, under Channels.</p>
      )}
      {channels !== null && channels.length > 0 && (
        <table class="plain">
          <tbody>
            {channels.map((each) => (
              <tr key={each.name}>
                <th scope="row">{onOneLine(each.name, 40)}</th>
                <td>
                  <Light good={each.state === "running"} said={each.state} />
                  {each.detail ? <p class="hint">{onOneLine(each.detail, 300)}</p> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <h3>The chain</h3>
      <pre class="explained" tabIndex={0} role="region" aria-label="The chain as it runs">
        {visible(chain.value?.explained ?? "")}
      </pre>
      <h3>Tools</h3>
      {[...tools.value.values()].map((tool) => (
        <Fold
          key={tool.name}
          class="tool-call"
          summary={
            <>
              <span class="tool-name">{onOneLine(tool.name, 60)}</span>
              <span class={`risk ${tool.risk}`}>{tool.risk} risk</span>
              <span class="tool-arguments">{onOneLine(tool.description, 120)}</span>
            </>
          }
        >
          {() => (
            <>
              <p>{visible(tool.description)}</p>
              <pre tabIndex={0}>{visible(JSON.stringify(tool.parameters, null, 2))}</pre>
            </>
          )}
        </Fold>
      ))}
    </section>
  );
}

function Light({ good, said }: { good: boolean; said: string }): JSX.Element {
  return (
    <span class={good ? "light good" : "light"}>
      <span class="dot" aria-hidden="true" /> {onOneLine(said, 60)}
    </span>
  );
}
