"""`sophon mcp add`, `remove`, `restart`: a server is tried, shown, written and pinned; wrong input is one line."""

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon.errors import InputError
from sophon_hosting.cli.settings_file import change_settings_file

SERVER = str(Path(__file__).with_name("client") / "misbehaving_server.py")
FAILURES = ("environment variable", "there is no program")
"""Of the machine and not of the command line: another exit code."""

PROGRAM = ("--", sys.executable, "-I", SERVER)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "my.json"
    file.write_text('{\n    "Other": [1, 2],\n    "Sophon": {"Budget": {"Turn": {"Cost": 5.0}}}\n}\n')
    file.chmod(0o640)
    return file


def test_a_server_is_tried_shown_written_and_removed(sophon: Callable[..., Any], file: Path, tmp_path: Path) -> None:
    about = tmp_path / "about"
    options = ("--settings", str(file))
    added = sophon(*options, "mcp", "add", "bad", "--yes", *PROGRAM, str(about))
    assert added.code == 0, added.err
    assert "bad: misbehaving 1, protocol 2025-11-25" in added.out
    assert "high" in next(line for line in added.out.splitlines() if "bad.die" in line)
    assert "was added to" in added.out
    entry = {"Id": "bad", "Command": sys.executable, "Args": ["-I", SERVER, str(about)]}
    written = {"Other": [1, 2], "Sophon": {"Budget": {"Turn": {"Cost": 5.0}}, "Mcp": {"Servers": [entry]}}}
    assert json.loads(file.read_text()) == written
    assert '\n    "Other"' in file.read_text(), "the indentation stays"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640

    about.write_text("Other text.")  # what was shown is pinned
    (row,) = json.loads(sophon(*options, "mcp", "list", "--json").out)
    assert {each["state"] for each in row["tools"]} == {"changed"}
    assert "there is an MCP server 'bad' already" in sophon(*options, "mcp", "add", "bad", "--yes", *PROGRAM).err

    assert sophon(*options, "mcp", "remove", "bad").code == 0
    assert json.loads(file.read_text())["Sophon"]["Mcp"] == {"Servers": []}
    assert "there is no MCP server 'bad'" in sophon(*options, "mcp", "remove", "bad").err
    assert sophon(*options, "mcp", "add", "bad", "--yes", *PROGRAM, str(about)).code == 0
    (row,) = json.loads(sophon(*options, "mcp", "list", "--json").out)
    assert {each["state"] for each in row["tools"]} == {"offered"}


def test_the_risk_of_a_tool_depends_on_who_says_that_it_only_reads(sophon: Callable[..., Any], file: Path) -> None:
    options = ("--settings", str(file), "mcp", "add", "bad", "--yes", "--read-only", "echo", "--read-only", "l*")
    added = sophon(*options, *PROGRAM)
    assert added.code == 0, added.err
    risks = dict(line.split()[:2] for line in added.out.splitlines() if line.startswith("bad."))
    assert {name for name, risk in risks.items() if risk == "medium"} == {"bad.echo", "bad.lie", "bad.look"}
    assert "name those that only read with --read-only" in added.err
    [entry] = json.loads(file.read_text())["Sophon"]["Mcp"]["Servers"]
    assert entry["ReadOnly"] == ["echo", "l*"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("No", *PROGRAM), "'No' is no id of a server"),
        (("a",), "give either --url URL, or a program"),
        (("a", "--url", "http://x.example", "--", "x"), "give either --url URL, or a program"),
        (("a", "--url", "nowhere"), "Url: "),
        (("a", "--url", "http://x.example", "--header", "Authorization=abc"), "the secret of 'Authorization' must be"),
        (("a", "--env", "KEY=env:NOT_SET_HERE", *PROGRAM), "environment variable NOT_SET_HERE is missing or empty"),
        (("files", *PROGRAM), "names of other tools begin with 'files.'"),
        (("goals", *PROGRAM), "names of other tools begin with 'goals.'"),
        (("a", "--sandbox", "Some", *PROGRAM), "Sandbox: "),
        (("a", "--", "/no/such/program"), "there is no program '/no/such/program'"),
    ],
)
def test_wrong_input_is_one_line_and_changes_nothing(
    sophon: Callable[..., Any], file: Path, arguments: tuple[str, ...], line: str
) -> None:
    before = file.read_text()
    failed = sophon("--settings", str(file), "mcp", "add", "--yes", *arguments)
    assert failed.code == (1 if line.startswith(FAILURES) else 2)
    assert line in failed.err
    assert len(failed.err.strip().splitlines()) == 1, failed.err
    assert "abc" not in failed.err
    assert file.read_text() == before


def test_without_a_yes_nothing_is_added(sophon: Callable[..., Any], file: Path) -> None:
    before = file.read_text()
    assert "nothing was added" in sophon("--settings", str(file), "mcp", "add", "bad", *PROGRAM).err
    assert file.read_text() == before


def test_a_restart_needs_a_running_host(sophon: Callable[..., Any]) -> None:
    assert "this needs a running host" in sophon("mcp", "restart", "bad").err


def test_a_file_that_changes_meanwhile_is_left_alone(file: Path) -> None:
    with pytest.raises(InputError, match="was changed meanwhile"):
        change_settings_file(file, lambda _: file.write_text("{}") and None)
    assert file.read_text() == "{}"


def test_a_link_to_the_settings_stays_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(file)
    change_settings_file(link, lambda root: root.update(Logging={}))
    assert link.is_symlink()
    assert "Logging" in json.loads(file.read_text())["Sophon"]
