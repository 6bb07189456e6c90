// Agents page: the agents and skills that are there, and for operators the MCP servers.
import { definePage } from "../../model/page";
import type { JSX } from "preact";
import { currentUser, reportErrors } from "../../model/app-state";
import { toOneLine } from "../../text/escape-controls";
import { formatTokens } from "../../text/format";
import { plural, rich, t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { listAgents, listMcpServers, listSkills, restartMcpServer } from "../../wire/operations";
import { ActionButton, StatusLight } from "../../view/controls";
import { EmptyState, useLoaded } from "../../view/loaded-items";
import { stateLabel } from "../../text/state-labels";

export const agentsPage = definePage({ name: "agents", title: () => t("Agents"), icon: "agent", View: AgentsPage });

function AgentsPage(): JSX.Element {
  return (
    <section class="info-page">
      <h2>{t("Agents")}</h2>
      <AgentList />
      <h3>{t("Skills")}</h3>
      <SkillList />
      {currentUser.value?.operator === true && (
        <>
          <h3>{t("MCP servers")}</h3>
          <McpServers />
        </>
      )}
    </section>
  );
}

function AgentList(): JSX.Element {
  const [found] = useLoaded(listAgents, {});
  return (
    <>
      <p class="hint">{t("Write @NAME to speak to one; the agent gives tasks to them too.")}</p>
      {found?.items.length === 0 && (
        <EmptyState title={t("No agents.")}>
          {rich("An agent is a file {file} in {setting}, with its own prompt, model and tools.", { file: <code>NAME.md</code>, setting: <code>Agents.Directory</code> })}
        </EmptyState>
      )}
      <Problems lines={found?.problems} />
      <ul class="rows">
        {found?.items.map((agent) => (
          <li key={agent.name}>
            <p>
              <strong>@{toOneLine(agent.name, 40)}</strong> <span lang="">{toOneLine(agent.description, 300)}</span>
            </p>
            <span class="hint">
              {agent.model ? toOneLine(agent.model, 60) : t("the model of the conversation")} · {agent.tools === null ? t("all tools") : plural(agent.tools.length, "{count} tool", "{count} tools")}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function SkillList(): JSX.Element {
  const [found] = useLoaded(listSkills, {});
  return (
    <>
      {found?.items.length === 0 && (
        <EmptyState title={t("No skills.")}>
          {rich("A skill is a folder with a {file} in {setting}; {command} adds one.", { file: <code>SKILL.md</code>, setting: <code>Skills.Directories</code>, command: <code>sophon skills install</code> })}
        </EmptyState>
      )}
      <Problems lines={found?.problems} />
      <ul class="rows">
        {found?.items.map((skill) => (
          <li key={skill.name}>
            <p>
              <strong>{toOneLine(skill.name, 60)}</strong> <span lang="">{toOneLine(skill.description, 300)}</span>
            </p>
            <StatusLight good={skill.enabled} label={skill.enabled ? t("enabled") : t("disabled")} /> <span class="hint">{formatTokens(skill.tokens)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function McpServers(): JSX.Element {
  const [found, reload] = useLoaded(listMcpServers, {});
  const restart = (id: string) => async (): Promise<void> => {
    await reportErrors(() => call(restartMcpServer, { server_id: id }));
    reload();
  };
  return (
    <>
      {found?.items.length === 0 && (
        <EmptyState title={t("No MCP servers.")}>
          {rich("{command} adds a server; its tools are offered to the model like the built-in ones.", { command: <code>sophon mcp add</code> })}
        </EmptyState>
      )}
      <ul class="rows">
        {found?.items.map((server) => (
          <li key={server.id}>
            <p>
              <strong>{toOneLine(server.id, 40)}</strong> <StatusLight good={server.state === "ready"} label={stateLabel(server.state)} />
            </p>
            <div class="row-end">
              <span class="hint">
                {plural(server.tools.length, "{count} tool", "{count} tools")}
                {server.error ? ` · ${toOneLine(server.error, 200)}` : ""}
              </span>
              <ActionButton label={t("Restart {id}", { id: toOneLine(server.id, 40) })} action={restart(server.id)}>{t("Restart")}</ActionButton>
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

function Problems({ lines }: { lines?: string[] | undefined }): JSX.Element | null {
  if (!lines?.length) return null;
  return (
    <ul class="problem">
      {lines.map((line) => (
        <li key={line} lang="en">{toOneLine(line, 300)}</li>
      ))}
    </ul>
  );
}
