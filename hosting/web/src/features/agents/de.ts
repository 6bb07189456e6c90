// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "A skill is a folder with a {file} in {setting}; {command} adds one.": "Eine Fähigkeit ist ein Ordner mit einer {file} in {setting}; {command} fügt eine hinzu.",
  "An agent is a file {file} in {setting}, with its own prompt, model and tools.": "Ein Agent ist eine Datei {file} in {setting}, mit eigenem Prompt, Modell und eigenen Werkzeugen.",
  "MCP servers": "MCP-Server",
  "No MCP servers.": "Keine MCP-Server.",
  "No agents.": "Keine Agenten.",
  "No skills.": "Keine Fähigkeiten.",
  "Restart": "Neu starten",
  "Restart {id}": "{id} neu starten",
  "Write @NAME to speak to one; the agent gives tasks to them too.": "Schreiben Sie @NAME, um einen anzusprechen; auch der Agent gibt ihnen Aufgaben.",
  "all tools": "alle Werkzeuge",
  "the model of the conversation": "das Modell der Unterhaltung",
  "{command} adds a server; its tools are offered to the model like the built-in ones.": "{command} fügt einen Server hinzu; seine Werkzeuge werden dem Modell wie die eingebauten angeboten.",
  "{count} tool": "{count} Werkzeug",
  "{count} tools": "{count} Werkzeuge",
};

export default catalogue;
