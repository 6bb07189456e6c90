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


def full_introduction() -> str:
    """Return the full introduction, for greetings and questions about the model."""
    return f"{IDENTITY_TEXT}\n\n{CAPABILITIES_TEXT}\n\n{CONNECT_TEXT}"
