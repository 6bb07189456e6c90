"""The offline model in German: what the page offers as examples, and the twins of what the introduction lists."""

import re
from pathlib import Path

import pytest

from sophon.models.offline.intent import IntentInput
from sophon.models.offline.intents.registry import match_intent
from sophon.models.offline.language.clauses import split_clauses
from sophon.models.offline.language.german import is_german, to_main_clause
from sophon.models.offline.small_talk import GERMAN_CAPABILITIES
from tests.tables import table

WEB = Path(__file__).parents[4] / "hosting" / "web" / "src"
NOTE = "Ich bin das Offline-Modell von Sophon"


def page_examples() -> list[str]:
    """The German texts of the examples on the page's welcome screen."""
    shown = (WEB / "view" / "welcome.tsx").read_text(encoding="utf-8").partition("const EXAMPLES")[2].partition("];")[0]
    german = dict(re.findall(r'^  "(.+?)": "(.+)",$', (WEB / "languages" / "de.ts").read_text(encoding="utf-8"), re.M))
    return [german.get(text, text) for text in re.findall(r't\("(.+?)"\)', shown)]


async def test_the_examples_of_the_page_are_done_and_answered_in_german(talk, desk) -> None:
    sums, plan, command = page_examples()
    answer = await talk.say(sums)
    assert [[call.name for call in calls] for calls in talk.rounds] == [["calculator", "datetime.now"]]
    assert "17 * 23 = 391. Heute ist Donnerstag, der 1. Januar 2026, 09:30 Uhr (UTC)." in answer
    assert answer.count(NOTE) == 1
    answer = await talk.say(plan)
    assert desk.memory == {"m1": "Meine Katze heißt Ada"}
    assert [name for name, _ in talk.calls] == ["memory.write", "memory.search"]
    assert answer.splitlines()[-3:] == [
        "1. Ich habe notiert: „Meine Katze heißt Ada“.",
        "2. In meinem Gedächtnis steht: „Meine Katze heißt Ada“.",
        "3. Mehr gibt es nicht zusammenzufassen.",
    ]
    answer = await talk.say(command)
    assert talk.calls == [("system.execute", {"command": "uname -a"})]
    assert answer.startswith("Ich habe `uname -a` ausgeführt. Die Ausgabe:")


async def test_what_the_introduction_offers_in_german_is_done(talk) -> None:
    offered = [text for text in re.findall("„(.+?)“", GERMAN_CAPABILITIES) if "..." not in text]
    assert len(offered) == 9
    for text in offered:
        answer = await talk.say(text)
        assert talk.calls, text
        assert "Regel" not in answer or NOTE in answer
        assert "did not" not in answer


@pytest.mark.parametrize("text", ["Hallo!", "Hilfe", "Wer bist du?", "Was ist die Hauptstadt von Frankreich?"])
async def test_what_it_is_and_how_to_get_a_real_model_is_said_in_german(talk, text) -> None:
    answer = await talk.say(text)
    assert talk.rounds == []
    assert answer.count(NOTE) == 1
    assert "OPENAI_API_KEY" in answer
    assert "I am" not in answer


async def test_a_refusal_and_a_missing_tool_are_told_in_german(talk) -> None:
    talk.refuse["system.execute"] = "denied: not on my machine"
    answer = await talk.say("Führe den Befehl aus: uname -a")
    assert "Ich wollte den Befehl `uname -a` ausführen, aber das wurde abgelehnt: not on my machine." in answer
    talk.tools = []
    assert "steht mir hier nicht zur Verfügung" in await talk.say("Was ist 2 + 2?")


@table(
    ("clause", "name", "arguments"),
    [
        ("Wie viel ist 1.200 geteilt durch 2,5?", "calculator", {"expression": "1200 / 2.5"}),
        ("Rechne bitte 3 mal 4", "calculator", {"expression": "3 * 4"}),
        ("Was ist 20 Prozent von 50", "calculator", {"expression": "20 / 100 * 50"}),
        ("Wie spät ist es in Tokio?", "datetime.now", {"timezone": "Tokyo"}),
        ("welches Datum haben wir heute", "datetime.now", {}),
        ("Merke dir: der Code ist 7", "memory.write", {"text": "Der Code ist 7", "category": "fact"}),
        ("Wie heißt meine Katze?", "memory.search", {"query": "katze"}),
        ("vergiss, dass meine Katze Ada heißt", "memory.search", {"query": "katze ada"}),
        ("Schreibe hallo in notes.txt", "files.write", {"path": "notes.txt", "content": "hallo"}),
        ("Was steht in notes.txt?", "files.read", {"path": "notes.txt"}),
        ("Welche Dateien sind im Ordner docs?", "files.list", {"path": "docs"}),
        ("Rufe bitte https://example.org ab", "http.request", {"url": "https://example.org"}),
        ("Führe `ls -l` aus", "system.execute", {"command": "ls -l"}),
    ],
)
def test_a_german_clause_calls_for_a_tool(clause: str, name: str, arguments: dict[str, object]) -> None:
    found = match_intent(IntentInput(clause))
    assert found is not None
    assert (found[1].tool, found[1].arguments, found[0].language) == (name, arguments, "de")


@table("clause", ["Führe ein gutes Leben", "Vergiss es", "Ich war in Wien", "Erzähle einen Witz"])
def test_other_german_clauses_call_for_none(clause: str) -> None:
    assert match_intent(IntentInput(clause)) is None


@table(
    ("text", "german"),
    [
        ("Was ist 2 + 2?", True),
        ("Lies notes.txt", True),
        ("What does “ist” mean?", False),
        ("He cheats, lies and steals", False),
        ("List the files in die.txt", False),
        ("What was the sum?", False),
        ("Quel est le prix du pain ?", False),
        ("¿Qué es esto?", False),
        ("", False),
    ],
)
def test_the_language_of_a_text_is_told_by_its_words(text: str, german: bool) -> None:
    assert is_german(text) is german


@table(
    ("text", "clauses"),
    [
        ("Schreibe zuerst a auf, sieh dann b nach und lies danach c", [False, True, True]),
        ("Merke dir, dass ich Bücher lese und schreibe", [False]),
        ("Was ist am 3. Mai?", [False]),
    ],
)
def test_a_german_text_is_cut_where_a_clause_begins(text: str, clauses: list[bool]) -> None:
    assert [clause.is_sequential for clause in split_clauses(text)] == clauses


@table(
    ("said", "kept"),
    [
        ("meine alte Katze Ada heißt", "meine alte Katze heißt Ada"),
        ("ich in Wien wohne", "ich wohne in Wien"),
        ("der Zug um acht ankommt", "der Zug um acht ankommt"),
        ("ich Hunde mag, aber keine Katzen", "ich Hunde mag, aber keine Katzen"),
        ("Ada schläft", "Ada schläft"),
    ],
)
def test_a_clause_after_dass_is_kept_as_a_sentence(said: str, kept: str) -> None:
    assert to_main_clause(said) == kept
