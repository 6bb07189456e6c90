"""Summaries, compactions and titles."""

from sophon.attachments import Attachment
from sophon.messages import Message
from sophon.models.offline.language.summaries import (
    compact_messages,
    extract_key_sentences,
    make_title,
    summarise_texts,
)
from sophon.turn.attached_files import fence_file
from tests.tables import table

PETS = "Cats are small. Dogs are big. Cats and dogs are pets. The moon is far away."


def test_the_sentences_that_say_most_stay_in_their_order() -> None:
    assert extract_key_sentences(PETS, 2) == ["Cats are small.", "Cats and dogs are pets."]


@table(
    ("clause", "lines"),
    [("Summarise it in two steps", 2), ("in 4 points", 4), ("Summarise", 1), ("in one sentence", 1)],
)
def test_a_summary_has_as_many_steps_as_were_asked_for(clause: str, lines: int) -> None:
    assert len(summarise_texts([PETS], clause).splitlines()) == lines


def test_a_summary_of_too_little_says_so_instead_of_inventing() -> None:
    assert summarise_texts(["One.", "Two."], "in five steps").splitlines() == [
        "1. One.",
        "2. Two.",
        "3. That covers both results; there is nothing more to sum up.",
    ]


def file_of_a_message(text: str) -> str:
    return fence_file(Attachment("id", "pets.txt", "text/plain", len(text)), text.encode(), 1_000)


async def test_a_file_of_the_message_is_summarised(talk) -> None:
    answer = await talk.say(f"Summarise the file in one sentence.\n\n{file_of_a_message(PETS)}")
    assert answer.startswith("Cats and dogs are pets.")


async def test_of_a_message_with_a_file_only_the_words_of_the_person_are_quoted(talk) -> None:
    answer = await talk.say(f"Frobnicate it.\n\n{file_of_a_message(PETS)}")
    assert "I have no rule for “Frobnicate it”." in answer
    assert "external" not in answer
    assert "Cats" not in answer


async def test_a_text_behind_a_colon_is_summarised(talk) -> None:
    answer = await talk.say(f"Summarise this in one sentence: {PETS}")
    assert answer.startswith("Cats and dogs are pets. (I am")


def test_a_compaction_is_shorter_and_names_who_spoke() -> None:
    messages = [Message("user", "What is 17 * 23? " * 5), Message("assistant", "It is 391. " * 10)]
    text = compact_messages(messages)
    assert len(text) <= sum(len(message.content) for message in messages) // 2
    assert text.startswith("User: What is 17 * 23?")
    assert "\nAssistant: It is 391." in text


def test_a_compaction_of_very_many_messages_keeps_what_the_person_said() -> None:
    messages = [
        message
        for n in range(200)
        for message in (
            Message("user", f"question {n} " * 3),
            Message("assistant", "a " * 50),
            Message("tool", "t " * 90),
        )
    ]
    text = compact_messages(messages)
    assert len(text) <= 2000
    assert "Tool result" not in text
    assert "question 0" in text
    assert "question 199" in text


def test_a_compaction_reads_the_elements_of_the_context_window() -> None:
    spoken = '<message role="user">\nMy cat is Ada. She is grey.\n</message>'
    entries = f'{spoken}\n<message role="tool">\nok ok ok ok ok\n</message>'
    text = compact_messages([Message("system", "Condense."), Message("user", entries)])
    assert text.startswith("User: My cat")
    assert "<message" not in text


@table(
    ("text", "expected"),
    [
        ("Please tell me what the weather in Paris is like", "Tell me what the weather in"),
        ("hi", "Hi"),
        ("Hey! Write hello to notes.txt", "Write hello to notes.txt"),
        ("Write hello to notes.txt", "Write hello to notes.txt"),
        ("Say hi to everyone please", "Say hi to everyone please"),
        ("  ", "Later"),
        ("What is 17 * 23, and what day is it?", "What is 17 * 23"),
        ('Sum up.\n\n<external-21e70643e642fc49 source="webhook">\nIt breaks', "Sum up. It breaks"),
    ],
)
def test_a_title_has_up_to_six_words_of_the_first_question(text: str, expected: str) -> None:
    assert make_title([Message("system", "x"), Message("user", text), Message("user", "later")]) == expected


async def test_it_claims_no_judgement_that_it_has_not(talk) -> None:
    talk.messages.append(Message("user", "Would rm -rf / be safe?"))
    assert "the offline model cannot judge" in (await talk.ask("evaluation")).text
    assert (await talk.ask("simulation")).text == "", "an advice that says nothing would stand below the result"
