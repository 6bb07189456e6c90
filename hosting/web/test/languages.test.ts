// Texts of the page in the reader's language, and its locale. That the catalogues are complete is tested by translated-texts.test.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import german from "../src/languages/de";
import { formatCost, formatDay, formatDuration, formatTokens } from "../src/text/format";
import { loadLanguage, locale, localeOf, plural, preferredLanguage, rich, t } from "../src/text/translate";

function placeholders(text: string): string[] {
  return [...text.matchAll(/\{\w+\}/g)].map(String).sort();
}

test("a translation has the placeholders of its text", () => {
  for (const [english, translated] of Object.entries(german)) assert.deepEqual(placeholders(translated), placeholders(english), english);
});

test("a text before its language is an error, so that no module translates while it is loaded", async () => {
  assert.throws(() => t("Write a message"));
  await loadLanguage("de");
  assert.equal(t("Write a message"), "Nachricht schreiben");
  await loadLanguage("en");
  assert.equal(t("Write a message"), "Write a message");
});

test("values are put where the text has their names", async () => {
  await loadLanguage("en");
  assert.equal(t("{a} of {b}", { a: 1, b: "{a}" }), "1 of {a}");
  assert.equal(plural(1, "{count} turn", "{count} turns"), "1 turn");
  assert.deepEqual(rich("see {link} now", { link: 7 }), ["see ", 7, " now"]);
});

test("the chosen language comes before those of the browser", () => {
  assert.equal(preferredLanguage("de", ["en-US"]), "de");
  assert.equal(preferredLanguage("xx", ["fr-FR", "de-AT"]), "de");
  assert.equal(preferredLanguage(null, ["fr"]), "en");
});

test("dates and numbers have the language of the page and the region of the reader", async () => {
  assert.equal(localeOf("de", ["en-US", "de-AT"]), "de-AT");
  assert.equal(localeOf("en", ["de-DE"]), "en-DE");
  assert.equal(localeOf("de", ["de"]), "de");
  await loadLanguage("de", ["de-DE"]);
  assert.equal(locale(), "de-DE");
  assert.deepEqual([formatDuration(1500), formatTokens(1), formatTokens(1_727), formatDay("2026-11-23")], ["1,5 s", "1 Token", "1,7 Tsd. Tokens", "23.11.2026"]);
  assert.equal(formatCost(1_230_000).replace(/\s/u, " "), "1,23 $");
  await loadLanguage("en", ["en-US"]);
  assert.deepEqual([formatDuration(1500), formatCost(1_230_000), formatDay("2026-11-23")], ["1.5 s", "$1.23", "Nov 23, 2026"]);
});
