// Policy page: which guards stand, what happens to calls of each tool, the rules, and the trial of a call.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors, tools } from "../model/app-state";
import { parseTrialArguments } from "../model/policy-trial";
import { toOneLine, escapeControls } from "../text/escape-controls";
import { getJson, sendJson } from "../wire/http-api";
import type { CallTrial, GuardInfo, PolicyInfo, RuleTableInfo, ToolAccess } from "../wire/protocol";
import { Disclosure, StatusLight } from "./controls";

export function PolicyPage(): JSX.Element {
  const [policy, setPolicy] = useState<PolicyInfo | null>(null);
  useEffect(() => void reportErrors(async () => setPolicy(await getJson<PolicyInfo>("/api/policy"))), []);
  return (
    <section class="info-page">
      <h2>Policy</h2>
      <p class="hint">What the agent may do, and who decides. Configured in <code>appsettings.json</code>; this page changes nothing.</p>
      <TrialForm />
      {policy !== null && <Overview policy={policy} />}
    </section>
  );
}

function Overview({ policy }: { policy: PolicyInfo }): JSX.Element {
  return (
    <>
      <h3>Guards</h3>
      <p class="hint">Each tool call passes the guards in this order before a person is asked and before it runs.</p>
      {policy.guards.map((guard) => <GuardEntry key={guard.name} guard={guard} />)}
      <h3>Tools</h3>
      <p class="hint">What happens to a call in your conversations that no guard blocks. A guard can ask about any of them.</p>
      <ToolsTable tools={policy.tools} />
      {policy.operators !== undefined && (
        <>
          <h3>Approvals</h3>
          <Settings values={policy.approval} />
          <p>Operators: {policy.operators.length > 0 ? policy.operators.map((each) => toOneLine(each, 60)).join(", ") : "none"}</p>
        </>
      )}
      {policy.levels !== undefined && (
        <>
          <h3>Permission levels</h3>
          <p class="hint">Features hold always, tools while the guard Authorization is on.</p>
          <RuleTable table={policy.levels} />
        </>
      )}
      {policy.policy !== undefined && (
        <>
          <h3>Rules of the policy</h3>
          <p class="hint">Deny wins over verify, verify over allow.</p>
          <RuleTable table={policy.policy} />
        </>
      )}
    </>
  );
}

function GuardEntry({ guard }: { guard: GuardInfo }): JSX.Element {
  const isOn = guard.position !== null;
  const state = isOn ? "on" : guard.enabled ? "not in this chain" : guard.enabled_by_default ? "switched off" : "off";
  return (
    <Disclosure
      class="guard"
      summary={
        <>
          <span class="guard-name">{toOneLine(guard.name, 40)}</span>
          <StatusLight good={isOn} label={state} />
          <span class="guard-does">{toOneLine(guard.does, 160)}</span>
        </>
      }
    >
      {() => (
        <>
          <p class="hint">
            Setting: <code>{toOneLine(guard.setting, 80)}</code>
            {guard.position !== null ? `; place ${guard.position} in the chain` : ""}
          </p>
          {guard.settings !== undefined && <Settings values={guard.settings} />}
          {guard.rules?.map((table) => <RuleTable key={table.title} table={table} />)}
        </>
      )}
    </Disclosure>
  );
}

const ACCESS_TEXTS: Record<ToolAccess, string> = {
  runs: "runs, nobody is asked",
  asks: "a person is asked",
  operator: "an operator must approve it",
};

function ToolsTable({ tools: rows }: { tools: PolicyInfo["tools"] }): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label="Tools">
      <table class="plain">
        <thead>
          <tr><th scope="col">Tool</th><th scope="col">Risk</th><th scope="col">A call</th></tr>
        </thead>
        <tbody>
          {rows.map((each) => (
            <tr key={each.tool}>
              <th scope="row"><code>{toOneLine(each.tool, 60)}</code></th>
              <td><span class={`risk ${each.risk}`}>{each.risk}</span></td>
              <td>{ACCESS_TEXTS[each.access]}</td>
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

function RuleTable({ table }: { table: RuleTableInfo }): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label={toOneLine(table.title, 80)}>
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
  const [trial, setTrial] = useState<CallTrial | null>(null);
  const submit = async (): Promise<void> => {
    const parsed = parseTrialArguments(text);
    setProblem(typeof parsed === "string" ? parsed : "");
    setTrial(null);
    if (typeof parsed === "string") return;
    await reportErrors(async () => setTrial(await sendJson<CallTrial>("POST", "/api/policy/test", { tool: tool.trim(), arguments: parsed })));
  };
  return (
    <form class="trial" onSubmit={(event) => (event.preventDefault(), void submit())}>
      <h3>Try a call</h3>
      <p class="hint">The rules judge it; it does not run.</p>
      <label>
        Tool
        <input list="known-tools" value={tool} required maxLength={200} onInput={(event) => setTool(event.currentTarget.value)} />
      </label>
      <datalist id="known-tools">{[...tools.value.keys()].map((name) => <option key={name} value={name} />)}</datalist>
      <label>
        Arguments, as JSON
        <textarea rows={3} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {problem !== "" && <p role="alert" class="problem">{problem}</p>}
      <div class="buttons">
        <button type="submit" class="primary">Try it</button>
      </div>
      {trial !== null && <TrialResult trial={trial} />}
    </form>
  );
}

const TRIAL_VERDICTS: Record<string, string> = { allow: "allowed", verify: "must be verified", block: "blocked" };

function TrialResult({ trial }: { trial: CallTrial }): JSX.Element {
  return (
    <section class={`trial-result ${trial.verdict}`} aria-label="Verdict" role="status">
      <p>
        <strong>{TRIAL_VERDICTS[trial.verdict] ?? trial.verdict}</strong>
        {`, tier ${trial.tier}`} {trial.rule !== "" && <code class="rule">{toOneLine(trial.rule, 80)}</code>}
      </p>
      {trial.access !== null && <p>{`By its risk (${trial.risk ?? ""}): ${ACCESS_TEXTS[trial.access]}.`}</p>}
      <ul>
        {trial.assessments.map((each) => (
          <li key={each.source}>
            {each.source}: {TRIAL_VERDICTS[each.verdict] ?? each.verdict}
            {each.verdict === "verify" ? `, tier ${each.tier}` : ""} {each.rule !== "" && <code class="rule">{toOneLine(each.rule, 80)}</code>}
            {!each.enforced && each.verdict !== "allow" && <span class="hint"> (not enforced: no enabled guard applies it)</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
