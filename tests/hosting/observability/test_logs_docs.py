import json
import logging
import re
from pathlib import Path

from sophon.settings import Settings
from sophon_hosting.observability.jsonable import MAX_DEPTH, MAX_ENTRIES, MAX_TEXT_CHARACTERS
from sophon_hosting.observability.log_formatters import JsonFormatter

DOCS = Path(__file__).parents[3] / "docs"
PAGE, HOST = (DOCS / "logs.md").read_text(), DOCS / "host.md"


def test_the_settings_on_the_page_can_be_used() -> None:
    [block] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    logging_settings = Settings.from_mapping(json.loads(block)["Sophon"]).logging
    assert (logging_settings.level, logging_settings.format) == ("Warning", "Json")


def test_every_field_of_a_line_is_on_the_page() -> None:
    scope = {"session_id": "s", "task_id": "t", "user": "ada", "trace_id": "f" * 32}
    error = ValueError("what?")
    record = logging.LogRecord("sophon", logging.INFO, "here.py", 1, "hello", (), (ValueError, error, None))
    record.__dict__.update(sophon_scope=scope, stack_info="Stack:")
    line = json.loads(JsonFormatter().format(record))
    named = {name for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == set(line)
    assert all(f"`{part}`" in PAGE for part in line["error"])


def test_the_line_on_the_page_looks_as_lines_do() -> None:
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    example = json.loads(shown)
    scope = {name: example[name] for name in ("task_id", "session_id", "trace_id", "user")}
    record = logging.LogRecord("sophon", logging.INFO, "here.py", 1, example["message"], (), None)
    record.__dict__.update(sophon_scope=scope)
    made = json.loads(JsonFormatter().format(record))
    assert list(made) == list(example)
    assert {**made, "time": ""} == {**example, "time": ""}


def test_the_limits_on_the_page_are_those_in_force() -> None:
    text = " ".join(PAGE.split())
    assert (
        f"texts are cut at {MAX_TEXT_CHARACTERS:,} characters, lists and mappings at {MAX_ENTRIES} entries "
        f"and {MAX_DEPTH} levels" in text
    )


def test_who_reads_how_to_run_a_host_finds_the_page() -> None:
    [row] = [line for line in HOST.read_text().splitlines() if line.startswith("| standard error |")]
    assert "(logs.md)" in row
