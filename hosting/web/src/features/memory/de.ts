// German of the texts that only this folder has.
import type { Catalogue } from "../../text/translate";

const catalogue: Catalogue = {
  "Correct: {text}": "Berichtigen: {text}",
  "Correct…": "Berichtigen …",
  "Forget": "Vergessen",
  "Forget: {text}": "Vergessen: {text}",
  "Nothing is remembered yet.": "Noch nichts gemerkt.",
  "Nothing that is remembered fits.": "Nichts Gemerktes passt.",
  "Say “remember that …” in a conversation; the agent also keeps facts that it learns.": "Sagen Sie in einer Unterhaltung „merke dir, dass …“; der Agent behält auch Fakten, die er lernt.",
  "What is right": "Was richtig ist",
  "What the agent remembers of you across conversations. What you correct is trusted from then on.": "Was sich der Agent über Unterhaltungen hinweg von Ihnen merkt. Was Sie berichtigen, gilt von da an als verlässlich.",
  "from an untrusted text": "aus einem nicht vertrauenswürdigen Text",
  "from {sources}": "aus {sources}",
  "Files": "Dateien",
  "Load again": "Neu laden",
  "Notes that it has in each conversation.": "Notizen, die er in jeder Unterhaltung hat.",
  "Rules that it never breaks. They hold for everybody.": "Regeln, die er nie bricht. Sie gelten für alle.",
  "Saved.": "Gespeichert.",
  "Text of {name}": "Text von {name}",
  "Texts that the agent reads from the next message on. What is between <!-- and --> is left out. Keep passwords and keys out of them.": "Texte, die der Agent ab der nächsten Nachricht liest. Was zwischen <!-- und --> steht, bleibt weg. Passwörter und Schlüssel gehören nicht hinein.",
  "The file is not there yet; this is a beginning.": "Die Datei gibt es noch nicht; dies ist ein Anfang.",
  "The file was changed meanwhile. Copy what you need of your text, then load the file again.": "Die Datei wurde inzwischen geändert. Kopieren Sie, was Sie von Ihrem Text brauchen, und laden Sie die Datei neu.",
  "This is too large: {bytes} bytes, and at most {limit} are read. Shorten it.": "Das ist zu groß: {bytes} Bytes, und höchstens {limit} werden gelesen. Kürzen Sie es.",
  "What it does by itself, at set times.": "Was er von selbst tut, zu festen Zeiten.",
  "What it should always know about you.": "Was er immer über Sie wissen soll.",
  "Who the agent is. It is the same for everybody.": "Wer der Agent ist. Das ist für alle gleich.",
  "{bytes} of {limit} bytes": "{bytes} von {limit} Bytes",
};

export default catalogue;
