// The words of the page in the reader's language. The English text is the key of a catalogue; a language other than English
// is a file of its own (src/languages/), loaded before the page is drawn, with the texts of each feature from its folder.
// Tests find what a catalogue lacks.
import type { ComponentChild } from "preact";

export type Catalogue = Readonly<Record<string, string>>;

const CATALOGUES: Readonly<Record<string, () => Promise<{ default: Catalogue }>>> = {
  de: () => import("../languages/de"),
};
const STORAGE_KEY = "sophon.language";

let catalogue: Catalogue | null = null;
let currentLanguage = "en";
let currentLocale = "en";

/** The languages of the page, as BCP 47 tags. */
export const LANGUAGES: readonly string[] = ["en", ...Object.keys(CATALOGUES)];

/** The language that the reader chose, otherwise the first of the browser's languages that the page has. */
export function preferredLanguage(chosen = localStorage.getItem(STORAGE_KEY), wanted = navigator.languages): string {
  if (chosen !== null && LANGUAGES.includes(chosen)) return chosen;
  for (const tag of wanted) {
    const base = tag.toLowerCase().split("-")[0] ?? "";
    if (LANGUAGES.includes(base)) return base;
  }
  return "en";
}

/** Keeps the choice in this browser and loads the page again in that language. */
export function chooseLanguage(chosen: string): void {
  localStorage.setItem(STORAGE_KEY, chosen);
  location.reload();
}

/** Loads the catalogue of a language; to be awaited before anything is drawn. Without its file the page is English. Returns the language that it has. */
export async function loadLanguage(wantedLanguage: string, wanted: readonly string[] = []): Promise<string> {
  let loaded = wantedLanguage;
  try {
    catalogue = (await CATALOGUES[wantedLanguage]?.())?.default ?? {};
  } catch {
    catalogue = {};
    loaded = "en";
  }
  currentLanguage = loaded;
  currentLocale = localeOf(loaded, wanted);
  return loaded;
}

/** The language of the page. */
export function language(): string {
  return currentLanguage;
}

/** The locale of dates and numbers: the language of the page, and the region of the browser's languages. */
export function locale(): string {
  return currentLocale;
}

/** Joins a language with the region that the reader has it for, or else with the first region at all. */
export function localeOf(base: string, wanted: readonly string[]): string {
  const locales = wanted.map((tag) => new Intl.Locale(tag));
  const region = (locales.find((each) => each.language === base && each.region) ?? locales.find((each) => each.region))?.region;
  return region === undefined ? base : `${base}-${region}`;
}

/** Translates a text; `{name}` stands for a value. Called when something is drawn, not when a module is loaded. */
export function t(english: string, values: Readonly<Record<string, string | number>> = {}): string {
  return lookUp(english).replace(/\{(\w+)\}/g, (match, name: string) => String(values[name] ?? match));
}

/** Translates a text for a count: `one` is its form for 1, `other` the rest; `{count}` is the count by the reader's locale. */
export function plural(count: number, one: string, other: string, values: Readonly<Record<string, string | number>> = {}): string {
  return t(count === 1 ? one : other, { count: count.toLocaleString(currentLocale), ...values });
}

/** Translates a text in which `{name}` stands for an element. */
export function rich(english: string, values: Readonly<Record<string, ComponentChild>>): ComponentChild[] {
  return lookUp(english)
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith("{") ? (values[part.slice(1, -1)] ?? part) : part));
}

function lookUp(english: string): string {
  if (catalogue === null) throw new Error(`"${english}" was translated before the language was loaded`);
  return catalogue[english] ?? english;
}
