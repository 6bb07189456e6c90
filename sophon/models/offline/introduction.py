"""Introduction texts of the offline model: what it is, what it can do, and how to connect a real model."""

OFFLINE_NOTE = "(I am Sophon's offline model: rules on this machine, no key and no network.)"
"""Sentence at the end of its first reply in a conversation."""

IDENTITY_TEXT = (
    "I am Sophon's offline model: a set of rules that runs on this machine, with no key and no network. "
    "I understand plain requests and use the tools for them, and I know only what the tools return."
)
CAPABILITIES_TEXT = (
    "What I can do:\n"
    "- arithmetic: “What is 17 * 23?”\n"
    "- time and date: “What time is it in Tokyo?”\n"
    "- memory: “Remember that my cat is called Ada”, “What do you know about cats?”, “Forget that ...”\n"
    "- files: “Write hello to notes.txt”, “Read notes.txt”, “List the files”\n"
    "- web and shell: “Fetch https://example.org”, “Run the command: uname -a”\n"
    "- summaries, and several steps in one request: “First ..., then ..., and finally ...”"
)
CONNECT_TEXT = (
    "To talk to a real model, set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama, and start Sophon again; "
    "see docs/models.md."
)
SHORT_INTRODUCTION = (
    "I am Sophon's offline model, without key or network; say “help” for what I can do, and see docs/models.md for how "
    "to connect a real model (OPENAI_API_KEY, ANTHROPIC_API_KEY or Ollama)."
)

GERMAN_NOTE = "(Ich bin das Offline-Modell von Sophon: Regeln auf diesem Rechner, ohne Schlüssel und ohne Netz.)"
GERMAN_IDENTITY = (
    "Ich bin das Offline-Modell von Sophon: Regeln, die auf diesem Rechner laufen, ohne Schlüssel und ohne Netz. "
    "Ich verstehe einfache Bitten auf Deutsch und Englisch, benutze dafür die Werkzeuge, und weiß nur, was diese sagen."
)
GERMAN_CAPABILITIES = (
    "Was ich kann:\n"
    "- rechnen: „Was ist 17 * 23?“\n"
    "- Zeit und Datum: „Wie spät ist es in Tokio?“\n"
    "- Gedächtnis: „Merke dir, dass meine Katze Ada heißt“, „Was weißt du über Katzen?“, „Vergiss, dass ...“\n"
    "- Dateien: „Schreibe hallo in notes.txt“, „Lies notes.txt“, „Liste die Dateien auf“\n"
    "- Web und Shell: „Rufe https://example.org ab“, „Führe den Befehl aus: uname -a“\n"
    "- Zusammenfassungen, und mehrere Schritte in einer Bitte: „Notiere zuerst ..., sieh dann nach ..., und fasse ... "
    "zusammen“"
)
GERMAN_CONNECT = (
    "Für ein richtiges Modell setzen Sie OPENAI_API_KEY oder ANTHROPIC_API_KEY, oder starten Sie Ollama, und starten "
    "Sie Sophon neu; siehe docs/models.md."
)
GERMAN_SHORT = (
    "Ich bin das Offline-Modell von Sophon, ohne Schlüssel und Netz; „Hilfe“ zeigt, was ich kann, und docs/models.md, "
    "wie man ein richtiges Modell anschließt (OPENAI_API_KEY, ANTHROPIC_API_KEY oder Ollama)."
)


def full_introduction(*, german: bool = False) -> str:
    """Return the full introduction, for greetings and questions about the model."""
    if german:
        return f"{GERMAN_IDENTITY}\n\n{GERMAN_CAPABILITIES}\n\n{GERMAN_CONNECT}"
    return f"{IDENTITY_TEXT}\n\n{CAPABILITIES_TEXT}\n\n{CONNECT_TEXT}"
