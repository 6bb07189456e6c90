// Selection of the page's language, kept in this browser.
import type { JSX } from "preact";
import { chooseLanguage, language, LANGUAGES, t } from "../text/translate";

export function LanguageSelect(): JSX.Element {
  return (
    <select class="language" aria-label={t("Language")} title={t("Language")} onChange={(event) => chooseLanguage(event.currentTarget.value)}>
      {LANGUAGES.map((tag) => (
        <option key={tag} value={tag} lang={tag} selected={tag === language()}>
          {new Intl.DisplayNames([tag], { type: "language" }).of(tag)}
        </option>
      ))}
    </select>
  );
}
