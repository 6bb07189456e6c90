"""A list in a result of a step is one sentence of a summary."""

from sophon.models.offline.language.summaries import join_list_items, summarise_texts
from tests.tables import table


@table(
    ("text", "joined"),
    [
        ("About cats:\n- One.\n- Two.\n- One.", "About cats: One; Two."),
        ("About cats:\n- One.\nAfter it.", "About cats: One.\nAfter it."),
        ("- Without a heading.\n- Two.", "- Without a heading.\n- Two."),
        ("Plain: text.\nMore.", "Plain: text.\nMore."),
        ("", ""),
    ],
)
def test_the_items_of_a_list_stand_behind_its_heading(text: str, joined: str) -> None:
    assert join_list_items(text) == joined


def test_a_summary_numbers_results_and_no_line_of_a_list() -> None:
    found = "From my memory, about cats:\n- Your cat is called Ada.\n- Your cat is called Ada."
    assert summarise_texts(["I wrote down: your cat is called Ada.", found], "summarise both in two steps") == (
        "1. I wrote down: your cat is called Ada.\n2. From my memory, about cats: Your cat is called Ada."
    )
