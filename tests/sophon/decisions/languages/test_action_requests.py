"""RequestWords in the grammars: what asks for an action, what surely does not, and what nobody can tell."""

from sophon.decisions.intent_check import judge_intent
from sophon.decisions.languages.action_requests import find_action_request
from sophon.decisions.languages.detection import detect_languages
from sophon.decisions.languages.text_preparation import MAX_CHARACTERS, fold_text
from tests.tables import table


@table(
    ("text", "family"),
    [
        ("can you jot this list in todo.txt", "file"),
        ("what is my disk usage?", "command"),
        ("wie voll ist die Platte?", "command"),
        ("¿cuánta memoria libre hay?", "command"),
        ("combien de mémoire libre ?", "command"),
        ("tell me the news every morning", "schedule"),
        ("weck mich um 7", "schedule"),
        ("ya no me mandes las noticias cada día", "schedule_end"),
        ("annule mon réveil", "schedule_end"),
        ("don't forget to save it", "file"),
    ],
)
def test_a_wish_is_found(text: str, family: str) -> None:
    assert find_action_request(text, family) == "asked"


@table(
    ("text", "family"),
    [
        ("what does rm -rf do?", "command"),
        ("who wrote Hamlet?", "file"),
        ('translate "delete everything" into French', "command"),
        ("show me the text, do not save it", "file"),
        ("erklär mir Rekursion", "command"),
        ("gracias", "web"),
        ("I don't want the news every morning any more", "schedule"),
    ],
)
def test_what_asks_for_no_action_is_known(text: str, family: str) -> None:
    assert find_action_request(text, family) == "not_asked"


@table(
    "text",
    [
        "pode anotar esta lista num ficheiro?",
        "kun je deze lijst in een bestand opslaan?",
        "metti la lista in un file, per favore",
        "zapisz tę listę do pliku",
        "リストをファイルに保存して",
        "сохрани список в файл",
        "احفظ القائمة في ملف",
        "bu listeyi bir dosyaya kaydet",
    ],
)
def test_another_language_is_not_understood(text: str) -> None:
    assert detect_languages(fold_text(text)) == ()
    assert judge_intent("files.write", {}, [text]).in_doubt


def test_a_wish_at_the_end_of_a_long_text_is_found_and_one_in_its_middle_is_not() -> None:
    pasted = "The quick brown fox sleeps. " * MAX_CHARACTERS
    assert find_action_request(f"{pasted} Save it to fox.txt.", "file") == "asked"
    assert find_action_request(f"{pasted} Save it to fox.txt. {pasted}", "file") == "unclear"


def test_a_word_of_an_address_asks_for_nothing() -> None:
    assert find_action_request("read https://example.com/post/send now", "web") != "asked"
