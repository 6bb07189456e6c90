"""The generated tables in docs/ are those of the declarations."""

from pathlib import Path

import pytest

from sophon_hosting.reference.markdown_tables import describe_type, render_table, replace_table
from sophon_hosting.reference.pages import TABLES, render_page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", TABLES)
def test_a_page_has_the_tables_of_the_declarations(name: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    assert render_page(name, page) == page, "run `make generate`"


def test_a_table_stands_between_its_markers_and_nothing_else_changes() -> None:
    page = "before\n\n<!-- generated: a -->\n\nold\n\n<!-- end: a -->\n\nafter\n"
    table = render_table(("name", ""), [("`x|y`", r"\1 stays")])

    assert replace_table(page, "a", table) == page.replace("old", "| name | |\n|---|---|\n| `x\\|y` | \\1 stays |")
    for broken in ("no place", page + page, "<!-- end: a --> <!-- generated: a -->"):
        with pytest.raises(ValueError, match="one place for the table 'a'"):
            replace_table(broken, "a", table)


def test_a_type_is_described_in_words() -> None:
    assert describe_type(str | None) == "text or `null`"
    assert describe_type(list[int]) == "list"
