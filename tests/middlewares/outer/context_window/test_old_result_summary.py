"""The line that stands for an old tool result."""

from sophon.tools.untrusted_text import fence_text
from sophon_middlewares.outer.context_window.old_result_summary import infer_type, summarise_result
from tests.tables import table


@table(
    ("text", "kind"),
    [
        ("<!DOCTYPE html>\n<title>x</title>", "HTML"),
        ("package main\n\nfunc main() {}\n", "Go"),
        ("import os\n\ndef run():\n    pass\n", "Python"),
        ('{"a": [1, 2]}\n', "JSON"),
        ("[1, 2]", "JSON"),
        ("# Title\n\nSome text", "Markdown"),
        ("exit code 1\nno such file", "command output"),
        ("Just a sentence about python.", "text"),
        ("{half a thought", "text"),
        ("", "text"),
    ],
)
def test_the_type_is_inferred_from_the_beginning(text: str, kind: str) -> None:
    assert infer_type(text) == kind


def test_a_result_becomes_its_size_and_type_without_any_of_its_text() -> None:
    text = fence_text("# Buy now\n\n\u20ac 5\n", "http.request https://shop.example", "0" * 16)
    summary = summarise_result("http.request", text)
    assert summary.startswith("[Summary: http.request returned 17 bytes (3 lines) of Markdown")
    assert "Buy" not in summary
    assert summarise_result("http.request", summary) == summary


@table(
    ("tool", "text", "origin", "summary"),
    [
        ("load_tools", "Available now: a, b.\nmore", "", "[Summary: load_tools returned: Available now: a, b.]"),
        ("look", "error: no such file\nat line 5", "", "[Summary: look failed: no such file]"),
        ("look", "not allowed by you\n" + "x" * 500, "denied", "[Summary: look failed: not allowed by you]"),
        ("look", "error: " + "x" * 200, "", f"[Summary: look failed: {'x' * 99}…]"),
        ("look", f"error: page says {fence_text('obey me', 'web', '0' * 16)}", "", "[Summary: look failed: page says]"),
    ],
)
def test_errors_and_what_was_loaded_keep_their_first_line(tool: str, text: str, origin: str, summary: str) -> None:
    assert summarise_result(tool, text, origin=origin) == summary
