// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "A call of a tool whose risk is high waits here, and in its conversation, until somebody decides.": "Ein Werkzeugaufruf mit hohem Risiko wartet hier und in seiner Unterhaltung, bis jemand entscheidet.",
  "Allowed without a question": "Ohne Rückfrage erlaubt",
  "It is revoked: such calls are asked about again.": "Widerrufen: Vor solchen Aufrufen wird wieder gefragt.",
  "No open approvals.": "Keine offenen Genehmigungen.",
  "Open approvals in all conversations of this host.": "Offene Genehmigungen in allen Unterhaltungen dieses Hosts.",
  "Open approvals in your conversations.": "Offene Genehmigungen in Ihren Unterhaltungen.",
  "Revoke {tool}": "{tool} widerrufen",
  "The first decision wins.": "Die erste Entscheidung gilt.",
  "in {conversation}": "in {conversation}",
  "{user} in all conversations, allowed by {granted_by} until {date}": "{user} in allen Unterhaltungen, erlaubt von {granted_by} bis {date}",
  "{user} in the conversation {session}, allowed by {granted_by} until {date}": "{user} in der Unterhaltung {session}, erlaubt von {granted_by} bis {date}",
};

export default catalogue;
