"""The rules before a model: which kind of work a message is, which tool call answers it, which says too little."""

from hypothesis import given
from hypothesis import strategies as st

from sophon.decisions import decide, fast_path, is_low_intent
from sophon.decisions.fast_paths.families import FAMILIES
from sophon.decisions.low_intent import ask_back
from sophon.decisions.message_shortening import MAX_CHARACTERS, shorten_for_routing
from tests.tables import table


@table(
    ("text", "strategy"),
    [
        ("Every morning at eight tell me the news", "scheduled_task"),
        ("Monitor https://example.com and tell me if it changes", "scheduled_task"),
        ("Cada 15 minutos revisa el precio del oro", "scheduled_task"),
        ("Todos los lunes envíame un resumen", "scheduled_task"),
        ("Watch out for typos in my text", "direct"),
        ("Daily at 8 send me the headlines", "scheduled_task"),
        ("My weekly report was late, sorry", "direct"),
        ("How do I schedule a meeting every day?", "direct"),
        ("¿Puedes avisarme cada día?", "direct"),
        ("Create an agent that monitors the bitcoin price", "sub_agent"),
        ("Keep an eye on my competitors around the clock", "sub_agent"),
        ("Crea un agente que vigile mi correo", "sub_agent"),
        ("Write a script that parses json", "script"),
        ("Poll the orders API and store the results", "script"),
        ("Extrae los datos de esta página", "script"),
        ("Research electric cars and write a report", "goal"),
        ("First read the notes, then draft an answer", "goal"),
        ("Investiga coches eléctricos y envíame un resumen", "goal"),
        ("What is the capital of France?", "direct"),
        ("Explain how transformers work", "direct"),
        ("every", "direct"),
        ("yes, try again please", "direct"),
        ("[SCHEDULED TASK: news] every day send the news", "direct"),
        ("[TAREA PROGRAMADA: x] cada día", "direct"),
        ("[AUTO-DETECTED: x] write a script", "direct"),
    ],
)
def test_a_message_is_one_kind_of_work(text: str, strategy: str) -> None:
    decided = decide(text)
    assert decided.strategy == strategy
    assert bool(decided.hits) == (strategy != "direct")


@table(
    ("text", "interval"),
    [
        ("every 15 minutes check the site", "every 15 minutes"),
        ("cada 2 horas revisa el correo", "every 2 hours"),
        ("every hour check the site", "hourly"),
        ("every 1 day check the site", "daily"),
        ("every evening tell me a story", "daily"),
        ("each Monday send the numbers", "weekly"),
        ("todos los viernes manda las cifras", "weekly"),
        ("check the site every five minutes", "every 5 minutes"),
        ("water the plants and remind me every other day", "every 2 days"),
        ("mándame un resumen diario", "daily"),
        ("mira una vez a la semana el precio", "weekly"),
        ("fetch the rate twice a day", "every 12 hours"),
        ("monitor the price of gold", "hourly"),
    ],
)
def test_a_schedule_has_an_interval_and_a_title(text: str, interval: str) -> None:
    parameters = decide(text).parameters
    assert (parameters["interval"], parameters["title"]) == (interval, text)


def test_an_agent_has_a_name_a_description_and_the_autonomy_semi() -> None:
    text = "Please create an agent called Scout that reads the news for me every now and then " + "x" * 300
    assert decide(text).parameters == {"name": "Scout", "description": text[:200], "autonomy": "semi"}


def test_a_long_message_is_decided_by_its_first_sentence_phrases_and_targets() -> None:
    filler = "This is background that says nothing of interest. " * 20
    text = f"I run a small shop. {filler} Remind me every 3 hours about btc and https://example.com/a"
    compact = shorten_for_routing(text)
    assert compact.startswith("I run a small shop.")
    assert "every 3 hours" in compact
    assert "https://example.com/a" in compact
    assert len(compact) <= MAX_CHARACTERS
    assert decide(text).parameters["interval"] == "every 3 hours"


@table(
    ("text", "tool", "arguments"),
    [
        ("What time is it?", "datetime.now", {}),
        ("What time is it in New York right now?", "datetime.now", {"timezone": "New York"}),
        ("¿Qué hora es en Madrid?", "datetime.now", {"timezone": "Madrid"}),
        ("what's the date today", "datetime.now", {}),
        ("Remind me in 5 minutes to call mum.", "schedules.add", {"in_minutes": 5, "text": "call mum"}),
        ("in half an hour remind me to stretch", "schedules.add", {"in_minutes": 30, "text": "stretch"}),
        ("recuérdame en dos horas llamar a Ana", "schedules.add", {"in_minutes": 120, "text": "llamar a Ana"}),
        ("remind me at 8:30 pm to take pills", "schedules.add", {"at": "20:30", "text": "take pills"}),
        (
            "remind me to go to the gym tomorrow at 9am",
            "schedules.add",
            {"day": "tomorrow", "at": "09:00", "text": "go to the gym"},
        ),
        ("list my reminders", "schedules.list", {}),
        ("cancel reminder 12", "schedules.remove", {"name": "12"}),
        ("send an email to bob@x.org saying hi there", "mail.send", {"to": "bob@x.org", "body": "hi there"}),
        ("check my inbox", "mail.inbox", {"count": 10}),
        ("search my mail for invoices", "mail.search", {"query": "invoices"}),
        ("show me your skills", "skills.list", {}),
        ("weather in Paris", "weather.now", {"place": "Paris"}),
        ("https://example.com/a?b=c", "http.request", {"url": "https://example.com/a?b=c"}),
        ("please open https://example.com.", "http.request", {"url": "https://example.com"}),
        ("search for cats", "web.search", {"query": "cats"}),
    ],
)
def test_one_tool_call_answers_the_message(text: str, tool: str, arguments: dict[str, object]) -> None:
    found = fast_path(text)
    assert found is not None
    assert (found.tool, found.arguments) == (tool, arguments)


@table(
    "text",
    [
        "",
        "fetch https://example.com and summarise it",
        "what is the time complexity of quicksort",
        "what is the date of the battle of Hastings",
        "remind me at 25:00 to sleep",
        "remind me in 0 minutes to sleep",
        "send an email to Bob saying hi",
        "[SCHEDULED TASK: x] what time is it",
        "search for cats and then write a poem about them",
        "what time is it " + "x" * 300,
    ],
)
def test_what_needs_a_model_has_no_fast_path(text: str) -> None:
    assert fast_path(text) is None


@table(
    ("text", "low"),
    [
        ("ok", True),
        ("?", True),
        ("👍", True),
        ("42", True),
        ("do it again", True),
        ("lo mismo", True),
        ("weiter", True),
        ("oui", True),
        ("yes please", True),
        ("", True),
        ("hi", False),
        ("hola", False),
        ("moin", False),
        ("2+2", False),
        ("what is love", False),
        ("explain transformers", False),
        ("[RETRY OF PREVIOUS: ok", False),
    ],
)
def test_some_messages_say_too_little(text: str, low: bool) -> None:
    assert is_low_intent(text) is low


@table(
    ("text", "begin"),
    [("más", "¿Qué"), ("lo mismo", "¿Qué"), ("weiter", "Was"), ("oui", "Que"), ("do it again", "What"), ("👍", "What")],
)
def test_the_question_is_in_the_language_of_the_message(text: str, begin: str) -> None:
    assert ask_back(text).startswith(f"{begin} ")


@given(st.text(max_size=600))
def test_the_rules_never_raise(text: str) -> None:
    assert (decide(text).strategy == "direct") == (not decide(text).hits)
    found = fast_path(text)
    assert found is None or found.tool in {family.tool for family in FAMILIES}
    assert is_low_intent(text) in (True, False)
    assert len(shorten_for_routing(text)) <= max(MAX_CHARACTERS, 0)
