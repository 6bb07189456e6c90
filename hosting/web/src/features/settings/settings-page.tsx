// Settings page: effective values with where each comes from, and the change of those that can change while the host runs.
import { definePage } from "../../model/page";
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { reportErrors } from "../../model/app-state";
import { toOneLine } from "../../text/escape-controls";
import { t } from "../../text/translate";
import { call } from "../../wire/http-api";
import { changeSetting, listSettings, resetSetting } from "../../wire/operations";
import type { SettingView } from "../../wire/types";
import { ActionButton } from "../../view/controls";
import { NoSettingsFiles, useLoadedFromFiles } from "../../view/loaded-items";
import { OperatorNav } from "../../view/operator-nav";

export const settingsPage = definePage({ name: "settings", title: () => t("Settings"), icon: null, View: SettingsPage });

const CHAIN_SOURCE = /^the chain (.+)$/;
const SAVED_FILE = ".sophon/appsettings.local.json";

function SettingsPage(): JSX.Element {
  const [found, reload, isWithoutFiles] = useLoadedFromFiles(listSettings);
  const [search, setSearch] = useState("");
  const [onlySet, setOnlySet] = useState(false);
  const wanted = search.trim().toLowerCase();
  const rows = found?.items.filter((row) => `${row.path} ${row.description}`.toLowerCase().includes(wanted) && (!onlySet || row.source !== null)) ?? [];
  const changeable = rows.filter((row) => row.can_change);
  const sections = new Map<string, SettingView[]>();
  for (const row of rows.filter((each) => !each.can_change)) {
    const name = row.path.split(".")[0] ?? "";
    sections.set(name, [...(sections.get(name) ?? []), row]);
  }
  return (
    <section class="info-page">
      <OperatorNav />
      <h2>{t("Settings")}</h2>
      <p class="hint">{t("The values that this process uses, and where each comes from. Secrets are never shown.")}</p>
      {isWithoutFiles && <NoSettingsFiles />}
      {!isWithoutFiles && (
        <div class="new-row">
          <label>
            {t("Search")}
            <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
          </label>
          <label class="check">
            <input type="checkbox" checked={onlySet} onChange={() => setOnlySet(!onlySet)} /> {t("Only those that are set")}
          </label>
        </div>
      )}
      {found !== null && rows.length === 0 && <p class="empty">{t("No setting fits.")}</p>}
      {changeable.length > 0 && (
        <>
          <h3>{t("Can change while the host runs")}</h3>
          <p class="hint">{t("A change holds from the next message on, is kept after a restart, and is written into the audit log. Settings that protect are changed in the file, with a restart.")}</p>
          <ul class="rows">{changeable.map((row) => <Entry key={row.path} row={row} onChange={reload} />)}</ul>
        </>
      )}
      {[...sections].map(([name, items]) => (
        <details class="guard" key={name} open={wanted !== ""}>
          <summary><span class="guard-name"><code>{name}</code></span></summary>
          <ul class="rows">{items.map((row) => <Entry key={row.path} row={row} onChange={reload} />)}</ul>
        </details>
      ))}
    </section>
  );
}

function Entry({ row, onChange }: { row: SettingView; onChange: () => void }): JSX.Element {
  const [draft, setDraft] = useState<string | null>(null);
  const isSaved = row.source?.endsWith(SAVED_FILE) === true;
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await reportErrors(() => call(changeSetting, { path: row.path, value: parseValue(draft ?? "", row.value) }))) {
      setDraft(null);
      onChange();
    }
  };
  const reset = async (): Promise<void> => {
    if (await reportErrors(() => call(resetSetting, { path: row.path }))) onChange();
  };
  return (
    <li class="setting">
      <p>
        <code>{row.path}</code> <span class="value"><code>{toOneLine(JSON.stringify(row.value), 300)}</code></span>
      </p>
      <p class="hint" lang="en">{toOneLine(row.description, 400)}</p>
      <div class="row-end">
        <span class="hint">{isSaved ? t("changed here") : describeSource(row.source)}</span>
        {row.can_change && draft === null && (
          <button type="button" aria-label={t("Change {setting}", { setting: row.path })} onClick={() => setDraft(String(row.value ?? ""))}>{t("Change")}</button>
        )}
        {isSaved && row.can_change && <ActionButton label={t("Take back: {setting}", { setting: row.path })} action={reset}>{t("Take back")}</ActionButton>}
      </div>
      {draft !== null && (
        <form class="new-row" onSubmit={(event) => void save(event)} onKeyDown={(event) => event.key === "Escape" && setDraft(null)}>
          <label>
            {t("New value")}
            {row.choices.length > 0 ? (
              <select value={draft} onChange={(event) => setDraft(event.currentTarget.value)} ref={(field) => field?.focus()}>
                {row.choices.map((each) => <option key={each} value={each}>{each}</option>)}
              </select>
            ) : (
              <input value={draft} maxLength={200} spellcheck={false} onInput={(event) => setDraft(event.currentTarget.value)} ref={(field) => field?.focus()} />
            )}
          </label>
          <button type="submit" class="primary">{t("Save")}</button>
          <button type="button" onClick={() => setDraft(null)}>{t("Cancel")}</button>
        </form>
      )}
    </li>
  );
}

function describeSource(source: string | null): string {
  if (source === null) return t("default");
  const chain = CHAIN_SOURCE.exec(source)?.[1];
  if (chain !== undefined) return t("default of the chain {name}", { name: toOneLine(chain, 120) });
  return t("from {source}", { source: toOneLine(source, 120) });
}

/** The value of a text field as the settings have it: a number where there was one, null for nothing. */
function parseValue(text: string, before: unknown): string | number | boolean | null {
  if (text.trim() === "") return null;
  return typeof before === "string" || Number.isNaN(Number(text)) ? text : Number(text);
}
