"""Small talk: answers without a tool to greetings, questions about the model or the conversation, and summaries."""

import re
from collections.abc import Callable, Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.models.offline.language.english import ensure_full_stop, extract_content_words, to_second_person
from sophon.models.offline.language.german import is_german
from sophon.models.offline.language.summaries import summarise_texts
from sophon.models.offline.transcript import ParsedTranscript

_MAX_QUOTE_CHARACTERS = 300

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


@dataclass(frozen=True, slots=True)
class DirectAnswer:
    """Answer without a tool. `is_introduction`: it says what the model is, so that the closing note is not needed."""

    text: str
    is_introduction: bool = False


def is_small_talk(clause: str) -> bool:
    """Return whether a clause is about the model or the conversation itself, so that no intent is matched."""
    return any(pattern.match(clause) for pattern, _ in _SMALL_TALK_RULES)


def answer_without_tool(
    clause: str, transcript: ParsedTranscript, previous_results: Sequence[str]
) -> DirectAnswer | None:
    """Return the answer to a clause that needs no tool, or None if no rule matches."""
    for pattern, answer in (*_SMALL_TALK_RULES, *_OTHER_RULES):
        match = pattern.match(clause)
        if match is not None:
            return answer(match, transcript, previous_results)
    return None


def answer_unknown_request(clauses: Sequence[str], transcript: ParsedTranscript) -> DirectAnswer:
    """Return the answer to clauses that no rule matches; long in the first reply, short in later ones."""
    if is_german(transcript.question):
        listed = " und ".join(f"„{_shorten(clause)}“" for clause in clauses)
        about = full_introduction(german=True) if transcript.is_first_reply else GERMAN_SHORT
        return DirectAnswer(f"Für {listed} habe ich keine Regel. {about}", is_introduction=True)
    listed = " and ".join(f"“{_shorten(clause)}”" for clause in clauses)
    return DirectAnswer(
        f"I have no rule for {listed}. {full_introduction() if transcript.is_first_reply else SHORT_INTRODUCTION}",
        is_introduction=True,
    )


def recall_user_statement(query: str, transcript: ParsedTranscript) -> str | None:
    """Return the user's earlier statement that shares the most words with a query, as a sentence; None without any."""
    query_words = set(extract_content_words(query))
    best: tuple[int, str] = (0, "")
    for message in transcript.earlier_messages:
        if message.role == "user" and not message.origin and not message.content.rstrip().endswith("?"):
            hits = len(query_words & set(extract_content_words(message.content[:2000])))
            best = max(best, (hits, message.content), key=lambda pair: (pair[0], pair[0] > 0))
    return (
        ensure_full_stop(f"Earlier in this conversation you said: {to_second_person(_shorten(best[1]))}")
        if best[0]
        else None
    )


def _greet(*_: object) -> DirectAnswer:
    return DirectAnswer(f"Hello! {full_introduction()}", is_introduction=True)


def _introduce(*_: object) -> DirectAnswer:
    return DirectAnswer(full_introduction(), is_introduction=True)


def _greet_in_german(*_: object) -> DirectAnswer:
    return DirectAnswer(f"Hallo! {full_introduction(german=True)}", is_introduction=True)


def _introduce_in_german(*_: object) -> DirectAnswer:
    return DirectAnswer(full_introduction(german=True), is_introduction=True)


def _explain_connection(*_: object) -> DirectAnswer:
    return DirectAnswer(f"{IDENTITY_TEXT}\n\n{CONNECT_TEXT}", is_introduction=True)


def _quote_last_user_message(_: re.Match[str], reading: ParsedTranscript, __: Sequence[str]) -> DirectAnswer:
    return DirectAnswer(
        _quote_last(reading.earlier_messages, "user", "You asked", "This is the first thing you have said to me.")
    )


def _quote_first_user_message(_: re.Match[str], reading: ParsedTranscript, __: Sequence[str]) -> DirectAnswer:
    earlier = reading.earlier_messages[::-1]
    return DirectAnswer(_quote_last(earlier, "user", "First you said", "This is the first thing you have said to me."))


def _quote_last_reply(_: re.Match[str], reading: ParsedTranscript, __: Sequence[str]) -> DirectAnswer:
    return DirectAnswer(_quote_last(reading.earlier_messages, "assistant", "I said", "I have not said anything yet."))


def _summarise(found: re.Match[str], reading: ParsedTranscript, material: Sequence[str]) -> DirectAnswer:
    given, clause = (found["text"] or "").strip(), found[0].partition(":")[0]
    if given:
        texts: Sequence[str] = [given]
    elif _ABOUT_CONVERSATION.search(clause) or not material:
        texts = [ensure_full_stop(m.content) for m in reading.earlier_messages if m.role == "user" and m.content]
    else:
        texts = material
    german = is_german(clause)
    if not texts:
        return DirectAnswer("Es gibt noch nichts zusammenzufassen." if german else "There is nothing to summarise yet.")
    return DirectAnswer(summarise_texts(texts, clause, german=german))


def _acknowledge_statement(found: re.Match[str], *_: object) -> DirectAnswer:
    return DirectAnswer(
        f"I keep that for this conversation only: {to_second_person(_shorten(found[0].rstrip('.!')))}. "
        "Say “remember that ...” and I write it to memory."
    )


def _fixed_answer(text: str) -> Callable[..., DirectAnswer]:
    return lambda *_: DirectAnswer(text)


def _quote_last(messages: Sequence[Message], role: str, lead: str, fallback: str) -> str:
    last = next((m for m in reversed(messages) if m.role == role and m.content and not m.origin), None)
    return f"{lead}: “{_shorten(last.content)}”" if last is not None else fallback


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_QUOTE_CHARACTERS else text[:_MAX_QUOTE_CHARACTERS].rstrip() + " ..."


_ABOUT_CONVERSATION = re.compile(
    r"\b(?:conversation|chat|so far|we (?:talked|said|discussed)|Unterhaltung|Gespräch|bisher)\b", re.IGNORECASE
)

_Answer = Callable[[re.Match[str], ParsedTranscript, Sequence[str]], DirectAnswer]

_Rule = tuple[re.Pattern[str], _Answer]


def _compile_rules(*rules: tuple[str, _Answer]) -> tuple[_Rule, ...]:
    return tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), answer) for pattern, answer in rules)


def full_introduction(*, german: bool = False) -> str:
    """Return the full introduction, for greetings and questions about the model."""
    if german:
        return f"{GERMAN_IDENTITY}\n\n{GERMAN_CAPABILITIES}\n\n{GERMAN_CONNECT}"
    return f"{IDENTITY_TEXT}\n\n{CAPABILITIES_TEXT}\n\n{CONNECT_TEXT}"


_SMALL_TALK_RULES = _compile_rules(
    (r"(?:hallo|guten (?:morgen|tag|abend)|servus|moin)\b(?: \w{1,20}){0,2}\W*$", _greet_in_german),
    (r"(?:vielen dank|danke)\b.{0,60}$", _fixed_answer("Gern geschehen.")),
    (r"(?:tschüss|auf wiedersehen|gute nacht)\b.{0,30}$", _fixed_answer("Auf Wiedersehen.")),
    (r"(?:wer|was) bist du\b|was kannst du\b|hilfe\W*$|welches modell\b", _introduce_in_german),
    (r"(?:hi|hello|hey|good (?:morning|evening|afternoon|day)|greetings|howdy)\b(?: \w{1,20}){0,2}\W*$", _greet),
    (r"(?:many |thank|thanks|thx|cheers)\b.{0,60}$", _fixed_answer("You are welcome.")),
    (r"(?:bye|goodbye|see you|good night)\b.{0,30}$", _fixed_answer("Goodbye.")),
    (r"how are you\b", _fixed_answer("I am a set of rules, so always the same. What can I do for you?")),
    (r"(?:who|what) are you\b|what(?: else)? (?:can|could) you do\b|help\W*$|what can i (?:do|ask|say)\b", _introduce),
    (
        r"what(?: language)? model\b|which(?: language)? model\b|are you (?:a|an|the|real|chatgpt|gpt|claude)\b",
        _introduce,
    ),
    (
        r"how (?:do|can|could|would|should) (?:i|we) (?:connect|use|get|add|configure|set up|switch)\b"
        r".*\b(?:model|provider|key)\b",
        _explain_connection,
    ),
    (r"what (?:did|have|was it) i (?:first|originally) (?:ask|say|said|asked|want|write)", _quote_first_user_message),
    (r"what was my first (?:question|message)", _quote_first_user_message),
    (
        r"what (?:did|have|was it) i (?:just |last )?(?:ask|say|said|asked|write|written|told?)\b"
        r"|what was my (?:last |previous )?(?:question|message)",
        _quote_last_user_message,
    ),
    (
        r"what (?:did|have|was it) you (?:just |last )?(?:say|said|answer|answered|tell|write)\b"
        r"|what was your (?:last |previous )?(?:answer|reply)|(?:please )?repeat (?:that|it|yourself)\b",
        _quote_last_reply,
    ),
)

_OTHER_RULES = _compile_rules(
    (
        r"(?:fasse?\b[^:\n]{0,80}\bzusammen|gib(?: mir)? eine Zusammenfassung)\b[^:\n]{0,60}(?::(?P<text>.+))?",
        _summarise,
    ),
    (
        r"(?:summari[sz]e|sum up|give (?:me )?a summary|report|combine|recap)\b[^:\n]{0,80}(?::(?P<text>.+))?",
        _summarise,
    ),
    (r"(?:my|i|i['’]m|our|we)\b[^?]{1,400}$", _acknowledge_statement),
)
