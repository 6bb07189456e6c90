// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "Channels": "Kanäle",
  "Go on": "Weiter",
  "Level and above": "Ab Stufe",
  "Lines appear here as the host writes them. The setting Logging.Level says which are written at all.": "Zeilen erscheinen hier, sobald der Host sie schreibt. Die Einstellung Logging.Level sagt, welche überhaupt geschrieben werden.",
  "Lines of the log": "Zeilen des Protokolls",
  "Log": "Protokoll",
  "No lines.": "Keine Zeilen.",
  "No channels are configured. To add Telegram or WhatsApp, see Channels in the settings.": "Keine Kanäle eingerichtet. Für Telegram oder WhatsApp siehe Channels in den Einstellungen.",
  "Sophon {version}. Configured in {file}; some settings can be changed on the page Settings.": "Sophon {version}. Eingestellt in {file}; einige Einstellungen lassen sich auf der Seite Einstellungen ändern.",
  "Text": "Text",
  "The chain": "Die Kette",
  "The chain as it runs": "Die Kette, wie sie läuft",
  "The newest lines of this process, as they are written; secrets are replaced. The whole log is where the process writes it.": "Die neuesten Zeilen dieses Prozesses, sobald sie geschrieben werden; Geheimnisse sind ersetzt. Das ganze Protokoll ist dort, wohin der Prozess es schreibt.",
  "This host": "Dieser Host",
  "Attach again": "Wieder verbinden",
  "Attach again: {name}": "Wieder verbinden: {name}",
};

export default catalogue;
