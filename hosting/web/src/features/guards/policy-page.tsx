// Policy page: which guards stand, what happens to calls of each tool, the rules, and the trial of a call.
import { definePage } from "../../model/page";
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors, tools } from "../../model/app-state";
import { parseTrialArguments } from "./policy-trial";
import { toOneLine, escapeControls } from "../../text/escape-controls";
import { rich, t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { getPolicy, tryToolCall } from "../../wire/operations";
import type { CallTrialView, GuardView, PolicyOverview, RuleTableView } from "../../wire/types";
import type { ToolAccess } from "./policy-trial";
import { Disclosure, StatusLight } from "../../view/controls";
import { riskWord } from "../../text/state-labels";

export const policyPage = definePage({ name: "policy", title: () => t("Policy"), icon: "shield", View: PolicyPage });

function PolicyPage(): JSX.Element {
  const [policy, setPolicy] = useState<PolicyOverview | null>(null);
  useEffect(() => void reportErrors(async () => setPolicy(await call(getPolicy))), []);
  return (
    <section class="info-page">
      <h2>{t("Policy")}</h2>
      <p class="hint">{rich("What the agent may do, and who decides. Configured in {file}; this page changes nothing.", { file: <code>appsettings.json</code> })}</p>
      <TrialForm />
      {policy !== null && <Overview policy={policy} />}
    </section>
  );
}

function Overview({ policy }: { policy: PolicyOverview }): JSX.Element {
  return (
    <>
      <h3>{t("Guards")}</h3>
      <p class="hint">{t("Each tool call passes the guards in this order before a person is asked and before it runs.")}</p>
      {policy.guards.map((guard) => <GuardEntry key={guard.name} guard={guard} />)}
      <h3>{t("Tools")}</h3>
      <p class="hint">{t("What happens to a call in your conversations that no guard blocks. A guard can ask about any of them.")}</p>
      <ToolsTable tools={policy.tools} />
      {policy.operators !== undefined && (
        <>
          <h3>{t("Approvals")}</h3>
          <Settings values={policy.approval} />
          <p>{t("Operators: {names}", { names: policy.operators.length > 0 ? policy.operators.map((each) => toOneLine(each, 60)).join(", ") : t("none") })}</p>
        </>
      )}
      {policy.levels !== undefined && (
        <>
          <h3>{t("Permission levels")}</h3>
          <p class="hint">{t("Features hold always, tools while the guard Authorization is on.")}</p>
          <RuleTable table={policy.levels} />
        </>
      )}
      {policy.policy !== undefined && (
        <>
          <h3>{t("Rules of the policy")}</h3>
          <p class="hint">{t("Deny wins over verify, verify over allow.")}</p>
          <RuleTable table={policy.policy} />
        </>
      )}
    </>
  );
}

function GuardEntry({ guard }: { guard: GuardView }): JSX.Element {
  const isOn = guard.position !== null;
  const state = isOn ? t("on") : guard.enabled ? t("not in this chain") : guard.enabled_by_default ? t("switched off") : t("optional");
  return (
    <Disclosure
      class="guard"
      summary={
        <>
          <span class="guard-name" lang="en">{toOneLine(guard.name, 40)}</span>
          <StatusLight good={isOn} label={state} />
          <span class="guard-does" lang="en">{toOneLine(guard.does, 160)}</span>
        </>
      }
    >
      {() => (
        <>
          <p class="hint">
            {rich("Setting: {setting}", { setting: <code>{toOneLine(guard.setting, 80)}</code> })}
            {guard.position !== null ? t("; place {position} in the chain", { position: guard.position }) : ""}
          </p>
          {guard.settings !== undefined && <Settings values={guard.settings} />}
          {guard.rules?.map((table) => <RuleTable key={table.title} table={table} />)}
        </>
      )}
    </Disclosure>
  );
}

const ACCESS_TEXTS: Record<ToolAccess, () => string> = {
  runs: () => t("runs, nobody is asked"),
  asks: () => t("a person is asked"),
  operator: () => t("an operator must approve it"),
};

function ToolsTable({ tools: rows }: { tools: PolicyOverview["tools"] }): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={t("Tools")}>
      <table class="plain">
        <thead>
          <tr><th scope="col">{t("Tool")}</th><th scope="col">{t("Risk")}</th><th scope="col">{t("A call")}</th></tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <tr key={each.tool}>
              <th scope="row"><code>{toOneLine(each.tool, 60)}</code></th>
              <td><span class={`risk ${each.risk}`}>{riskWord(each.risk)}</span></td>
              <td>{ACCESS_TEXTS[each.access]()}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Settings({ values }: { values: Record<string, unknown> }): JSX.Element | null {
  const entries = Object.entries(values);
  if (entries.length === 0) return null;
  return (
    <ul class="setting-list">
      {entries.map(([name, value]) => (
        <li key={name}>
          <code>{toOneLine(name, 60)}: {toOneLine(JSON.stringify(value), 200)}</code>
        </li>
      ))}
    </ul>
  );
}

function RuleTable({ table }: { table: RuleTableView }): JSX.Element {
  return (
    <div class="wide-table" lang="en" tabIndex={0} role="region" aria-label={toOneLine(table.title, 80)}>
      <table class="plain rules">
        <thead>
          <tr>{table.columns.map((each) => <th key={each} scope="col">{toOneLine(each, 40)}</th>)}</tr>
        </thead>
        <tbody>
          {table.rows.map((row) => (
            <tr key={row.join("\n")}>{row.map((cell, index) => <td key={table.columns[index]}>{escapeControls(cell)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Form that tries a call: nothing runs. */
function TrialForm(): JSX.Element {
  const [tool, setTool] = useState("files.write");
  const [text, setText] = useState('{"path": "AGENTS.md"}');
  const [problem, setProblem] = useState("");
  const [trial, setTrial] = useState<CallTrialView | null>(null);
  const submit = async (): Promise<void> => {
    const parsed = parseTrialArguments(text);
    setProblem(typeof parsed === "string" ? parsed : "");
    setTrial(null);
    if (typeof parsed === "string") return;
    await reportErrors(async () => setTrial(await call(tryToolCall, { tool: tool.trim(), arguments: parsed })));
  };
  return (
    <form class="trial" onSubmit={(event) => (event.preventDefault(), void submit())}>
      <h3>{t("Try a call")}</h3>
      <p class="hint">{t("The rules judge it; it does not run.")}</p>
      <label>
        {t("Tool")}
        <input list="known-tools" value={tool} required maxLength={200} onInput={(event) => setTool(event.currentTarget.value)} />
      </label>
      <datalist id="known-tools">{[...tools.value.keys()].map((name) => <option key={name} value={name} />)}</datalist>
      <label>
        {t("Arguments, as JSON")}
        <textarea rows={3} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {problem !== "" && <p role="alert" class="problem">{problem}</p>}
      <div class="buttons">
        <button type="submit" class="primary">{t("Try it")}</button>
      </div>
      {trial !== null && <TrialResult trial={trial} />}
    </form>
  );
}

const TRIAL_VERDICTS: Record<string, () => string> = { allow: () => t("allowed"), verify: () => t("must be verified"), block: () => t("blocked") };

function TrialResult({ trial }: { trial: CallTrialView }): JSX.Element {
  return (
    <section class={`trial-result ${trial.verdict}`} aria-label={t("Verdict")} role="status">
      <p>
        <strong>{TRIAL_VERDICTS[trial.verdict]?.() ?? trial.verdict}</strong>
        {t(", tier {tier}", { tier: trial.tier })} {trial.rule !== "" && <code class="rule">{toOneLine(trial.rule, 80)}</code>}
      </p>
      {trial.access !== null && <p>{t("By its risk ({risk}): {access}.", { risk: riskWord(trial.risk ?? ""), access: ACCESS_TEXTS[trial.access]() })}</p>}
      <ul>
        {trial.assessments.map((each) => (
          <li key={each.source}>
            {each.source}: {TRIAL_VERDICTS[each.verdict]?.() ?? each.verdict}
            {each.verdict === "verify" ? t(", tier {tier}", { tier: each.tier }) : ""} {each.rule !== "" && <code class="rule">{toOneLine(each.rule, 80)}</code>}
            {!each.enforced && each.verdict !== "allow" && <span class="hint"> {t("(not enforced: no enabled guard applies it)")}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
