// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "By model": "Nach Modell",
  "Cost this month": "Kosten in diesem Monat",
  "Each message that a model answers adds its tokens and its cost.": "Jede Nachricht, die ein Modell beantwortet, zählt hier mit ihren Tokens und Kosten.",
  "No usage in these days.": "Kein Verbrauch in diesen Tagen.",
  "The last {days} days": "Die letzten {days} Tage",
  "The usage of all conversations is visible to operators only. Each conversation shows its own usage beside its title.": "Den Verbrauch aller Unterhaltungen sehen nur Betreiber. Jede Unterhaltung zeigt ihren eigenen neben dem Titel.",
  "Tokens today": "Tokens heute",
  "Usage": "Verbrauch",
  "Usage of this conversation so far": "Bisheriger Verbrauch dieser Unterhaltung",
  "no limit": "keine Grenze",
  "of {limit}": "von {limit}",
};

export default catalogue;
