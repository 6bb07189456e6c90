// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "Delete this goal?": "Dieses Ziel löschen?",
  "Delete: {name}": "Löschen: {name}",
  "Begin": "Beginnen",
  "Cancel: {name}": "Abbrechen: {name}",
  "Describe one above; the host plans its steps and asks before it does what is risky.": "Beschreiben Sie oben eines; der Host plant die Schritte und fragt vor riskanten.",
  "Description": "Beschreibung",
  "Goal": "Ziel",
  "Goals": "Ziele",
  "No goals.": "Keine Ziele.",
  "Goals are off.": "Ziele sind aus.",
  "An operator turns them on: the setting Goals.Enabled, and a restart of the host.": "Ein Betreiber schaltet sie ein: die Einstellung Goals.Enabled, und ein Neustart des Hosts.",
  "Plans that the host works on by itself, within budgets; each reports to its conversation.": "Vorhaben, an denen der Host selbst arbeitet, innerhalb von Budgets; jedes berichtet in seiner Unterhaltung.",
  "Progress of {name}": "Fortschritt von {name}",
  "“{title}”, its steps and the conversations that it works in will be deleted. What it has reported to another conversation stays there.": "„{title}“, seine Schritte und die Unterhaltungen, in denen es arbeitet, werden gelöscht. Was es einer anderen Unterhaltung berichtet hat, bleibt dort.",
};

export default catalogue;
