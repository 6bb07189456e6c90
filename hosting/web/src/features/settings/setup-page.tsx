// Set-up of a model: a provider's key is tried, a model chosen from what it lists, and both are used at once.
import { definePage } from "../../model/page";
import { useState } from "preact/hooks";
import type { JSX } from "preact";
import { announcement, refreshHost, reportErrors } from "../../model/app-state";
import { toOneLine } from "../../text/escape-controls";
import { priceText, turnPriceText } from "./price-text";
import { trialErrorText } from "./trial-text";
import { rich, t } from "../../text/translate";
import type { ErrorText } from "../../text/error-text";
import { call } from "../../wire/http-api";
import { getSetup, listOfferedModels, removeProvider, saveProvider } from "../../wire/operations";
import type { OfferedModels, SetupView } from "../../wire/types";
import { ActionButton } from "../../view/controls";
import { NoSettingsFiles, useLoadedFromFiles } from "../../view/loaded-items";
import { OperatorNav } from "../../view/operator-nav";

export const setupPage = definePage({ name: "setup", title: () => t("Set up a model"), icon: null, View: SetupPage });

const MAX_SHOWN = 60;
const EXAMPLE_URL = "http://localhost:8000/v1";

function SetupPage(): JSX.Element {
  const [setup, reload, isWithoutFiles] = useLoadedFromFiles(getSetup);
  return (
    <section class="info-page">
      <OperatorNav />
      <h2>{t("Set up a model")}</h2>
      <p class="hint">{t("A key of a provider connects this host with a real model. The key is kept on the host, and is never shown again.")}</p>
      {isWithoutFiles && <NoSettingsFiles />}
      {setup !== null && <InUse setup={setup} onChange={reload} />}
      {setup !== null && (setup.obstacle === "" ? <ProviderForm setup={setup} onSaved={reload} /> : <p class="problem" lang="en">{toOneLine(setup.obstacle, 300)}</p>)}
    </section>
  );
}

function InUse({ setup, onChange }: { setup: SetupView; onChange: () => void }): JSX.Element {
  const names = setup.in_use.map(({ provider, model }) => toOneLine(`${provider}/${model}`, 80)).join(", ");
  const remove = async (): Promise<void> => {
    if (await reportErrors(() => call(removeProvider))) {
      void refreshHost();
      onChange();
    }
  };
  return (
    <div class="row-end">
      <p class="hint">{setup.is_offline ? t("Now the offline model answers, by rules. Without a key everything works with it.") : t("In use: {names}", { names })}</p>
      {setup.saved !== null && <ActionButton label={t("Remove {provider} and its key", { provider: toOneLine(setup.saved.id, 40) })} action={remove}>{t("Remove the key")}</ActionButton>}
    </div>
  );
}

function ProviderForm({ setup, onSaved }: { setup: SetupView; onSaved: () => void }): JSX.Element {
  const [type, setType] = useState(setup.saved?.type ?? setup.types[0]?.type ?? "");
  const [key, setKey] = useState("");
  const [url, setUrl] = useState(setup.saved?.base_url ?? "");
  const [listing, setListing] = useState<OfferedModels | null>(null);
  const [problem, setProblem] = useState<ErrorText | null>(null);
  const [busy, setBusy] = useState(false);
  const chosen = setup.types.find((each) => each.type === type);
  const hasSavedKey = setup.saved?.has_key === true && setup.saved.type === type && (setup.saved.base_url ?? "") === url;
  const given = { type, ...(key === "" ? {} : { key }), ...(url === "" || chosen?.needs_key ? {} : { base_url: url }) };
  const run = async (action: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem(null);
    await action().catch((error: unknown) => setProblem(trialErrorText(error)));
    setBusy(false);
  };
  const tryKey = (event: Event): void => {
    event.preventDefault();
    setListing(null);
    void run(async () => setListing(await call(listOfferedModels, given)));
  };
  const save = (model: string): void =>
    void run(async () => {
      await call(saveProvider, { ...given, model });
      setKey("");
      setListing(null);
      announcement.value = t("{model} is used from the next message on.", { model });
      void refreshHost();
      onSaved();
    });
  const change = (set: (value: string) => void) => (event: { currentTarget: { value: string } }): void => {
    set(event.currentTarget.value);
    setListing(null);
    setProblem(null);
  };
  // A key is typed for one provider at one server, and must reach no other.
  const chooseType = (value: string): void => {
    setType(value);
    setUrl(value === setup.saved?.type ? (setup.saved.base_url ?? "") : "");
    setKey("");
  };
  const changeUrl = (value: string): void => {
    setUrl(value);
    if (originOf(value) !== originOf(url)) setKey("");
  };
  return (
    <>
      <form class="setup" onSubmit={tryKey}>
        <label>
          {t("Provider")}
          <select value={type} disabled={busy} onChange={change(chooseType)}>
            {setup.types.map((each) => <option key={each.type} value={each.type}>{toOneLine(each.type, 40)}</option>)}
          </select>
        </label>
        {chosen?.needs_key === false && (
          <label>
            {t("Address of the server")} {!chosen.needs_url && <span class="hint">{t("(optional)")}</span>}
            <input type="url" value={url} required={chosen.needs_url} maxLength={2000} placeholder={EXAMPLE_URL} readOnly={busy} onInput={change(changeUrl)} />
          </label>
        )}
        <label>
          {t("Key")} {hasSavedKey ? <span class="hint">{t("(empty: the saved one)")}</span> : chosen?.needs_key === false && <span class="hint">{t("(optional)")}</span>}
          <input type="password" value={key} required={chosen?.needs_key === true && !hasSavedKey} maxLength={4096} readOnly={busy} autocomplete="off" autocapitalize="off" spellcheck={false} onInput={change(setKey)} />
        </label>
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy}>{t("Try the key")}</button>
        </div>
      </form>
      {busy && <p role="status" class="hint">{t("Asking the provider…")}</p>}
      {problem !== null && <p role="alert" class="problem" lang={problem.lang}>{problem.text}</p>}
      {listing !== null && <ModelChoice listing={listing} preferred={chosen?.model ?? ""} busy={busy} onChoose={save} />}
    </>
  );
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function ModelChoice({ listing, preferred, busy, onChoose }: { listing: OfferedModels; preferred: string; busy: boolean; onChoose: (model: string) => void }): JSX.Element {
  const [filter, setFilter] = useState("");
  const isListed = listing.items.some(({ model }) => model === preferred);
  const [model, setModel] = useState(isListed ? preferred : (listing.items[0]?.model ?? preferred));
  const wanted = filter.trim().toLowerCase();
  const found = listing.items.filter((each) => each.model.toLowerCase().includes(wanted));
  const chosen = listing.items.find((each) => each.model === model);
  const isTyped = chosen === undefined;
  return (
    <form class="setup" onSubmit={(event) => (event.preventDefault(), onChoose(model))}>
      <h3>{t("Model")}</h3>
      <p role="status" class="hint">
        {listing.is_from_provider ? t("The provider accepts the key.") : t("This provider does not list its models; these are known to Sophon. The key is tried with the first answer.")}
      </p>
      <label>
        {t("Search models")}
        <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      </label>
      <fieldset class="models">
        <legend class="off-screen">{t("Models")}</legend>
        {found.slice(0, MAX_SHOWN).map((each) => (
          <label key={each.model}>
            <input type="radio" name="model" value={each.model} checked={each.model === model} onChange={() => setModel(each.model)} />
            <span class="model-name">{toOneLine(each.model, 100)}</span>
            <span class="hint">{priceText(each)}</span>
          </label>
        ))}
        {found.length > MAX_SHOWN && <p class="hint">{t("There are more; the search finds them.")}</p>}
        {found.length === 0 && <p class="hint">{t("No model has this in its name.")}</p>}
      </fieldset>
      <label>
        {t("Name of the model")}
        <input value={model} required maxLength={200} spellcheck={false} onInput={(event) => setModel(event.currentTarget.value)} />
      </label>
      <p class="price">{isTyped ? t("What it costs is shown when it is in use.") : turnPriceText(chosen)}</p>
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy || model.trim() === ""}>{t("Use this model")}</button>
        <span class="hint">{rich("It answers one short message first; then it is used, without a restart. {setting} limits what it may cost.", { setting: <code>Budget</code> })}</span>
      </div>
    </form>
  );
}
