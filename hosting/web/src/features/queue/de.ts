// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "Dead letters": "Unzustellbares",
  "Retry": "Erneut versuchen",
  "Retry {id}": "{id} erneut versuchen",
  "Tasks that failed too often, and messages that could not be delivered.": "Aufgaben, die zu oft fehlschlugen, und Nachrichten, die nicht zugestellt werden konnten.",
  "may have arrived": "vielleicht angekommen",
  "task": "Aufgabe",
  "to {chat}": "an {chat}",
};

export default catalogue;
