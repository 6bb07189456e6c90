// Host page: models, channels, dead letters, chain and tools.
import { definePage } from "../../model/page";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { chain, currentUser, refreshHost, reportErrors, tools } from "../../model/app-state";
import { toOneLine, escapeControls } from "../../text/escape-controls";
import { rich, t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { attachChannel, listChannels } from "../../wire/operations";
import type { ChannelView } from "../../wire/types";
import { ActionButton, Disclosure, StatusLight } from "../../view/controls";
import { DeadLettersPanel } from "../queue/dead-letters-panel";
import { OperatorNav } from "../../view/operator-nav";
import { ProvidersTable } from "../providers/providers-table";
import { riskLabel, stateLabel } from "../../text/state-labels";

export const hostPage = definePage({ name: "host", title: () => t("This host"), icon: "host", View: HostPage });

/** How often, and after how many milliseconds, the page looks whether a channel has been attached. */
const ATTACH_LOOKS = 20;
const ATTACH_LOOK_MS = 500;

function HostPage(): JSX.Element {
  const [channels, setChannels] = useState<ChannelView[] | null>(null);
  const loadChannels = async (): Promise<readonly ChannelView[]> => {
    const { items } = await call(listChannels).catch(() => ({ items: [] }));
    setChannels(items);
    return items;
  };
  useEffect(() => {
    void refreshHost();
    void loadChannels();
  }, []);
  /** Starts a detached channel, and shows what becomes of it: the host answers before the platform does. */
  const attach = async (name: string): Promise<void> => {
    if (!(await reportErrors(() => call(attachChannel, { name })))) return;
    for (let look = 0; look < ATTACH_LOOKS; look++) {
      const found = (await loadChannels()).find((each) => each.name === name);
      if (found?.state !== "detached") return;
      await new Promise((resolve) => setTimeout(resolve, ATTACH_LOOK_MS));
    }
  };
  return (
    <section class="info-page">
      <OperatorNav />
      <h2>{t("This host")}</h2>
      <p class="hint">
        {rich("Sophon {version}. Configured in {file}; some settings can be changed on the page Settings.", { version: currentUser.value?.version, file: <code>appsettings.json</code> })}
      </p>
      <h3>{t("Models")}</h3>
      <ProvidersTable />
      <h3>{t("Channels")}</h3>
      {channels?.length === 0 && (
        <p class="empty">{t("No channels are configured. To add Telegram or WhatsApp, see Channels in the settings.")}</p>
      )}
      {channels !== null && channels.length > 0 && (
        <table class="plain">
          <tbody>
            {channels.map((each) => (
              <tr key={each.name}>
                <th scope="row">{toOneLine(each.name, 40)}</th>
                <td>
                  <StatusLight good={each.state === "running"} label={stateLabel(each.state)} />
                  {each.detail ? <p class="hint" lang="en">{toOneLine(each.detail, 300)}</p> : null}
                  {each.state === "detached" && currentUser.value?.operator && (
                    <ActionButton label={t("Attach again: {name}", { name: toOneLine(each.name, 40) })} action={() => attach(each.name)}>{t("Attach again")}</ActionButton>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <DeadLettersPanel />
      <h3>{t("The chain")}</h3>
      <pre class="chain-text" lang="en" tabIndex={0} role="region" aria-label={t("The chain as it runs")}>
        {escapeControls(chain.value?.explained ?? "")}
      </pre>
      <h3>{t("Tools")}</h3>
      {[...tools.value.values()].map((tool) => (
        <Disclosure
          key={tool.name}
          class="tool-call"
          summary={
            <>
              <span class="tool-name">{toOneLine(tool.name, 60)}</span>
              <span class={`risk ${tool.risk}`}>{riskLabel(tool.risk)}</span>
              <span class="tool-arguments" lang="en">{toOneLine(tool.description, 120)}</span>
            </>
          }
        >
          {() => (
            <>
              <p lang="en">{escapeControls(tool.description)}</p>
              <pre tabIndex={0}>{escapeControls(JSON.stringify(tool.parameters, null, 2))}</pre>
            </>
          )}
        </Disclosure>
      ))}
    </section>
  );
}
