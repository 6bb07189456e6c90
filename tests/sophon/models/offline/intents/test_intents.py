"""What each kind of clause asks for, and what is said of the result."""

import pytest

from sophon.models.offline.intent import IntentInput
from sophon.models.offline.intents.arithmetic import extract_expression
from sophon.models.offline.intents.registry import match_intent
from sophon.tools.tool import Risk, tool
from tests.tables import table


@table(
    ("clause", "found"),
    [
        ("What is 17 * 23", "17 * 23"),
        ("17 times 23", "17 * 23"),
        ("17 x 23 =", "17 * 23"),
        ("What's 2^10?", "2 ** 10"),
        ("(3+4)/2", "(3+4)/2"),
        ("12 percent of 80", "12 / 100 * 80"),
        ("What is 20% of 50?", "20 / 100 * 50"),
        ("what is 50 + 10%", "50 + (10 / 100)"),
        ("the square root of 144", "sqrt(144)"),
        ("Calculate 100 divided by 7", "100 / 7"),
        ("seventeen times twenty-three", "17 * 23"),
        ("what is two hundred and five plus 1", "205 + 1"),
        ("Add 3 and 4", "3 + 4"),
        ("subtract 3 from 10", "10 - 3"),
        ("What is 5 squared plus 3", "5 ** 2 + 3"),
        ("What is 1,000 * 2", "1000 * 2"),
        ("what is -3 * 2", "-3 * 2"),
        ("What is 2026-01-01", None),
        ("I have 3-4 friends", None),
        ("What is the capital of France", None),
        ("In 3 steps", None),
        ("what is ((2", None),
    ],
)
def test_arithmetic_is_found_in_symbols_and_in_words(clause: str, found: str | None) -> None:
    assert extract_expression(clause) == found


@table(
    ("clause", "name", "arguments"),
    [
        ("what day is it", "datetime.now", {}),
        ("what time is it in Berlin?", "datetime.now", {"timezone": "Berlin"}),
        ("What is the time in New York right now?", "datetime.now", {"timezone": "New York"}),
        ("What time is it in Europe/Berlin", "datetime.now", {"timezone": "Europe/Berlin"}),
        ("Remember that my cat is called Ada", "memory.write", {"text": "My cat is called Ada", "category": "fact"}),
        ("remember I like tea.", "memory.write", {"text": "I like tea", "category": "preference"}),
        ("Remember to buy milk", "memory.write", {"text": "To do: buy milk", "category": "fact"}),
        ("What is my cat called?", "memory.search", {"query": "cat"}),
        ("What do you know about cats?", "memory.search", {"query": "cats"}),
        ("look up what you know about cats", "memory.search", {"query": "cats"}),
        ("what do you know about me?", "memory.search", {"query": ""}),
        ("do you remember my dog?", "memory.search", {"query": "dog"}),
        ("tell me about Ada", "memory.search", {"query": "ada"}),
        ("Forget that I like tea", "memory.search", {"query": "like tea"}),
        ("Write hello world to notes.txt", "files.write", {"path": "notes.txt", "content": "hello world"}),
        ('save "a, b" in the file "my notes.md"', "files.write", {"path": "my notes.md", "content": "a, b"}),
        ("create a file todo.md with milk", "files.write", {"path": "todo.md", "content": "milk"}),
        ("add eggs to todo.md", "files.write", {"path": "todo.md", "content": "\neggs", "append": True}),
        ("read notes.txt", "files.read", {"path": "notes.txt"}),
        ("What is in docs/a.md?", "files.read", {"path": "docs/a.md"}),
        ("what is 10/0", "calculator", {"expression": "10/0"}),
        ("list the files", "files.list", {}),
        ("what files are in docs", "files.list", {"path": "docs"}),
        ("Fetch https://example.org/a?b=1.", "http.request", {"url": "https://example.org/a?b=1"}),
        ("visit example.org", "http.request", {"url": "https://example.org"}),
        ("Post hello to https://a.org/x", "http.send", {"url": "https://a.org/x", "method": "POST", "body": "hello"}),
        ("Run the command: uname -a", "system.execute", {"command": "uname -a"}),
        ("run `ls -la`", "system.execute", {"command": "ls -la"}),
        ("execute ls", "system.execute", {"command": "ls"}),
    ],
)
def test_a_clause_calls_for_a_tool(clause: str, name: str, arguments: dict[str, object]) -> None:
    found = match_intent(IntentInput(clause))
    assert found is not None
    assert (found[1].tool, found[1].arguments) == (name, arguments)


@table(
    "clause",
    ["Run a marathon", "Tell me a joke", "What is the capital of France?", "I went for a run", "forget it", "thanks"],
)
def test_other_clauses_call_for_none(clause: str) -> None:
    assert match_intent(IntentInput(clause)) is None


@tool(risk=Risk.HIGH)
def send_mail(to: str, body: str = "") -> str:
    """Send a mail."""
    return "sent"


@tool
def poll(job: str) -> str:
    """Look at a job."""
    return "running"


@table(
    ("clause", "name", "arguments"),
    [
        (
            "use send_mail with to=ada@a.org, body='Hi you'",
            "send_mail",
            {"to": "ada@a.org", "body": "Hi you"},
        ),
        ('call send_mail {"to": "ada"}', "send_mail", {"to": "ada"}),
        ("call poll with number 7", "poll", {"job": "number 7"}),
        ("use poll", "poll", {}),
    ],
)
def test_any_tool_is_called_by_its_name(clause: str, name: str, arguments: dict[str, object]) -> None:
    found = match_intent(IntentInput(clause, tools={"send_mail": send_mail, "poll": poll}))
    assert found is not None
    assert (found[1].tool, found[1].arguments) == (name, arguments)


async def test_what_is_written_to_memory_is_found_again(talk) -> None:
    assert "I wrote down: your cat is called Ada." in await talk.say("Remember that my cat is called Ada")
    assert await talk.say("What is my cat called?") == "From my memory: your cat is called Ada."


async def test_an_empty_memory_is_told_and_the_conversation_is_asked(talk) -> None:
    assert "nothing about dog" in await talk.say("What is my dog called?")
    await talk.say("My dog is called Rex")
    assert await talk.say("What is my dog called?") == "Earlier in this conversation you said: your dog is called Rex."


async def test_the_entry_that_is_meant_is_forgotten_and_no_other(talk, desk) -> None:
    desk.memory.update(m1="I like coffee", m2="I like green tea")
    answer = await talk.say("Forget that I like green tea")
    assert desk.memory == {"m1": "I like coffee"}
    assert "I have forgotten it." in answer


async def test_nothing_is_forgotten_when_no_entry_fits(talk, desk) -> None:
    desk.memory.update(m1="I like coffee")
    answer = await talk.say("Forget that I like jazz on rainy Sunday evenings")
    assert desk.memory == {"m1": "I like coffee"}
    assert "nothing to forget" in answer


async def test_a_file_is_read_after_it_is_written(talk, desk) -> None:
    answer = await talk.say("Write hello world to notes.txt, read notes.txt and list the files")
    assert [[call.name for call in calls] for calls in talk.rounds] == [["files.write"], ["files.read", "files.list"]]
    assert "hello world" in answer
    assert "notes.txt (11 bytes)" in answer


async def test_a_result_can_be_written_to_a_file(talk, desk) -> None:
    await talk.say("What is 6 * 7 and write the result to out.txt")
    assert desk.files == {"out.txt": "6 * 7 = 42."}


async def test_a_write_that_was_refused_is_told_and_the_reading_goes_on(talk) -> None:
    talk.refuse["files.write"] = "denied: no"
    answer = await talk.say("Write hello to notes.txt and read notes.txt")
    assert "did not write notes.txt" in answer
    assert "there is no file" in answer


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What time is it?", "09:30"),
        ("What day is tomorrow?", "Friday, 2 January 2026"),
        ("What day was yesterday?", "Wednesday, 31 December 2025"),
    ],
)
async def test_the_clock_s_answer_is_read(talk, question: str, told: str) -> None:
    answer = await talk.say(question)
    assert [name for name, _ in talk.calls] == ["datetime.now"]
    assert told in answer


async def test_a_long_output_is_cut_and_says_so(talk, desk) -> None:
    desk.page = "x" * 5000
    assert "3500 more characters are not shown" in await talk.say("Fetch https://example.org")


async def test_the_conversation_itself_is_remembered(talk) -> None:
    await talk.say("What is 2 + 2?")
    assert await talk.say("What did I just ask?") == "You asked: “What is 2 + 2?”"
    assert "You asked" in await talk.say("What did you just say?")
