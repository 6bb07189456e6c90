// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "A file that Sophon, ChatGPT or Claude has exported: JSON, or the archive as it was downloaded. Each conversation is imported once; titles and dates stay.": "Eine Datei, die Sophon, ChatGPT oder Claude exportiert hat: JSON oder das Archiv, wie es heruntergeladen wurde. Jede Unterhaltung wird einmal importiert; Titel und Daten bleiben.",
  "File": "Datei",
  "Sending the file…": "Die Datei wird gesendet…",
  "Skipped conversations": "Übersprungene Unterhaltungen",
  "The host reads the conversations…": "Der Host liest die Unterhaltungen…",
  "and {count} more": "und {count} weitere",
  "{count} conversation imported": "{count} Unterhaltung importiert",
  "{count} conversations imported": "{count} Unterhaltungen importiert",
  "{count} skipped:": "{count} übersprungen:",
};

export default catalogue;
