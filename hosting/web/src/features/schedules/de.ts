// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "Add": "Hinzufügen",
  "Kind of time": "Art der Zeit",
  "Make one above, or say “every day at eight …” in a conversation.": "Legen Sie oben einen an, oder sagen Sie in einer Unterhaltung „jeden Tag um acht …“.",
  "Messages that the host sends to the agent at set times; the answers are in their conversations.": "Nachrichten, die der Host zu festen Zeiten an den Agenten sendet; die Antworten stehen in ihren Unterhaltungen.",
  "No schedules.": "Keine Zeitpläne.",
  "Remove: {name}": "Entfernen: {name}",
  "Schedules": "Zeitpläne",
  "What to do": "Was zu tun ist",
  "When": "Wann",
  "cron, such as 0 8 * * 1-5": "Cron, etwa 0 8 * * 1-5",
  "every, such as 15 minutes": "alle, etwa 15 minutes",
  "next {time}": "nächster Lauf {time}",
  "once, in minutes": "einmal, in Minuten",
};

export default catalogue;
