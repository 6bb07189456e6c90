"""Phrases that were written before the rules: what each family finds of them, and what it must leave alone."""

from sophon.decisions import decide
from sophon.decisions.fast_paths.families import FAMILIES
from sophon.decisions.fast_paths.fast_paths import find_family
from tests.sophon.decisions.phrase_files import Half, read_phrases
from tests.tables import table

HALVES: list[Half] = ["worked on", "held out"]
FOUND = 0.92
"""Share of its phrases that each family must find."""


@table("half", HALVES)
@table("family", [each.name for each in FAMILIES])
def test_a_family_of_fast_paths_knows_its_phrases(family: str, half: Half) -> None:
    phrases = read_phrases("fast_paths", half)[family]
    missed = [each for each in phrases if (found := find_family(each)) is None or found[0].name != family]
    assert len(phrases) >= 11
    assert len(missed) <= (1 - FOUND) * len(phrases) + 0.01, missed


@table("half", HALVES)
@table("strategy", ["scheduled_task", "sub_agent", "script", "goal"])
def test_a_strategy_knows_its_phrases(strategy: str, half: Half) -> None:
    phrases = read_phrases("strategies", half)[strategy]
    missed = [each for each in phrases if decide(each).strategy != strategy]
    assert len(phrases) == 14
    assert len(missed) <= (1 - FOUND) * len(phrases) + 0.01, missed


@table("half", HALVES)
def test_what_only_sounds_like_a_family_is_left_to_the_model(half: Half) -> None:
    phrases = read_phrases("near_misses", half)["near misses"]
    taken = [each for each in phrases if find_family(each) is not None or decide(each).strategy != "direct"]
    assert len(phrases) == 55
    assert taken == []


@table(
    "text",
    [
        "weather in Paris",
        "¿QUÉ TIEMPO HACE EN PARÍS?",
        "que tiempo hace en paris",
        "Please, what's the weather in Paris, please?",
        "what’s the weather in Paris",
    ],
)
def test_accents_case_politeness_and_typographic_marks_make_no_difference(text: str) -> None:
    found = find_family(text)
    assert found is not None
    assert found[0].name == "weather"
    assert str(found[1]["place"]).casefold() in ("paris", "parís")


def test_the_words_of_a_mail_are_sent_as_they_were_written() -> None:
    found = find_family("Please send an email to bob@example.org saying Are you coming, Zoë? Tell me please!")
    assert found is not None
    assert found[1] == {"to": "bob@example.org", "body": "Are you coming, Zoë? Tell me please!"}


@table(
    ("text", "arguments"),
    [
        ("remind me at half past seven to leave", {"at": "07:30", "text": "leave"}),
        ("remind me at quarter to 12 to leave", {"at": "11:45", "text": "leave"}),
        ("recuérdame a las siete y media de la tarde salir", {"at": "19:30", "text": "salir"}),
        ("remind me at noon to eat", {"at": "12:00", "text": "eat"}),
        ("wake me up at seven am", {"at": "07:00", "text": "Your reminder"}),
        ("remind me on March 3rd at 10 to vote", {"day": "3 march", "at": "10:00", "text": "vote"}),
        ("recuérdame el 3 de marzo a las 10 votar", {"day": "3 march", "at": "10:00", "text": "votar"}),
        ("remind me the day after tomorrow at 9 to run", {"day": "in 2 days", "at": "09:00", "text": "run"}),
        ("remind me in two weeks to call Ada", {"in_minutes": 20160, "text": "call Ada"}),
        ("ping me in 20 minutes", {"in_minutes": 20, "text": "Your reminder"}),
        ("recuérdame en 20 minutos", {"in_minutes": 20, "text": "Tu recordatorio"}),
        ("despiértame a las 7", {"at": "07:00", "text": "Tu recordatorio"}),
        ("remind me tomorrow at 9", {"day": "tomorrow", "at": "09:00", "text": "Your reminder"}),
        ("remind me at 9 am tomorrow", {"day": "tomorrow", "at": "09:00", "text": "Your reminder"}),
        ("remind me on Friday at noon", {"day": "friday", "at": "12:00", "text": "Your reminder"}),
        ("remind me next Monday at 9", {"day": "monday", "at": "09:00", "text": "Your reminder"}),
        ("remind me the day after tomorrow at 9", {"day": "in 2 days", "at": "09:00", "text": "Your reminder"}),
        ("remind me tonight at 8 to feed the cat", {"day": "today", "at": "20:00", "text": "feed the cat"}),
        ("remind me this afternoon at 3", {"day": "today", "at": "15:00", "text": "Your reminder"}),
        ("remind me at 2 at night to look at the oven", {"at": "02:00", "text": "look at the oven"}),
        ("recuérdame mañana a las 9 de la noche", {"day": "tomorrow", "at": "21:00", "text": "Tu recordatorio"}),
        ("recuérdame a las 9 de la mañana", {"at": "09:00", "text": "Tu recordatorio"}),
        ("recuérdame el lunes a las 9", {"day": "monday", "at": "09:00", "text": "Tu recordatorio"}),
    ],
)
def test_times_and_days_are_read_as_people_write_them(text: str, arguments: dict[str, object]) -> None:
    found = find_family(text)
    assert found is not None
    assert (found[0].tool, found[1]) == ("schedules.add", arguments)


@table(
    "text",
    [
        "remind me next week at 9",
        "remind me in the morning at 9",
        "remind me every day at 9",
        "remind me at 9 every day",
        "remind me to water the plants every monday at 9",
        "remind me to call Ada next week at 9",
        "remind me to pay rent on the 1st at 9",
        "remind me to call Ada at 5 pm two weeks from now",
        "remind me in 2 days at 9 to call Ada",
        "remind me in 10 minutes and in 20 minutes",
        "remind me 10 minutes before my meeting at 9",
        "remind me to call Ada at 9 and to buy milk at 10",
        "remind me tonight at 2 to look at the oven",
        "remind me tomorrow at midnight to call Ada",
        "ping me in 5 minutes, twice",
        "recuérdame la semana que viene a las 9",
        "recuérdame tomar la pastilla todos los días a las 9",
        "recuérdame en 2 días a las 9",
    ],
)
def test_a_reminder_with_a_time_that_no_pattern_reads_is_left_to_the_model(text: str) -> None:
    assert find_family(text) is None


@table(
    ("text", "arguments"),
    [
        ("will it rain in London tomorrow?", {"place": "London", "when": "tomorrow"}),
        ("¿va a llover mañana en Sevilla?", {"place": "Sevilla", "when": "mañana"}),
        ("how hot is it in Seville right now?", {"place": "Seville"}),
        ("how is the weather in Paris next week?", None),
    ],
)
def test_the_weather_of_another_day_is_not_that_of_now(text: str, arguments: dict[str, object] | None) -> None:
    found = find_family(text)
    assert (None if found is None else found[1]) == arguments


@table("text", ["summarize https://example.com/post", "resume https://example.com/entrada", "how much is 2+2?"])
def test_what_is_more_than_a_page_or_a_search_is_left_to_the_model(text: str) -> None:
    assert find_family(text) is None


@table("text", ["remind me at 25:00 to sleep", "remind me at 13 pm to sleep", "at 9:75 remind me to go"])
def test_a_time_that_is_none_makes_no_reminder(text: str) -> None:
    assert find_family(text) is None
