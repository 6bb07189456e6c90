// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "Always the same model.": "Immer dasselbe Modell.",
  "Averages of cost, time and quality appear here after the first turns, by model, tier and kind of work.": "Nach den ersten Zügen stehen hier Mittelwerte von Kosten, Zeit und Güte, nach Modell, Stufe und Art der Arbeit.",
  "Complexity": "Komplexität",
  "Explain": "Erklären",
  "Forget what was learned": "Gelerntes vergessen",
  "How the model of a message is chosen. The trace of a turn says why it was that one.": "Wie das Modell für eine Nachricht gewählt wird. Der Ablauf eines Zuges sagt, warum es dieses war.",
  "Kind of work": "Art der Arbeit",
  "Nothing was learned yet.": "Noch wurde nichts gelernt.",
  "Quality": "Güte",
  "Ratings": "Bewertungen",
  "Strategy": "Strategie",
  "The cheapest model that has done well.": "Das günstigste Modell, das sich bewährt hat.",
  "The model that is good at what a message asks for.": "Das Modell, das kann, was eine Nachricht verlangt.",
  "The provider of the lowest priority number that is available.": "Der verfügbare Anbieter mit der niedrigsten Prioritätszahl.",
  "The tier by complexity, corrected by what similar messages have shown.": "Die Stufe nach Komplexität, berichtigt durch das, was ähnliche Nachrichten gezeigt haben.",
  "The tier that fits the complexity of a message.": "Die Stufe, die zur Komplexität einer Nachricht passt.",
  "Tier": "Stufe",
  "Tiers": "Stufen",
  "Time": "Zeit",
  "What was learned": "Was gelernt wurde",
  "Which model would it be?": "Welches Modell wäre es?",
  "{count} failed": "{count} fehlgeschlagen",
};

export default catalogue;
