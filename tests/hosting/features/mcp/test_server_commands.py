"""`sophon mcp list` and `accept` without a running host, and turns of the terminal with the tools of a server."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SERVER = str(Path(__file__).with_name("client") / "misbehaving_server.py")


def test_a_changed_tool_is_shown_and_accepted(sophon: Callable[..., Any], tmp_path: Path) -> None:
    about = tmp_path / "about"
    server = {"Id": "bad", "Command": sys.executable, "Args": ["-I", SERVER, str(about)]}
    options = ("--set", f"Mcp.Servers={json.dumps([server])}")
    assert "There are no MCP servers" in sophon("mcp", "list").out

    assert "bad.echo" in sophon(*options, "mcp", "list").out
    assert "waits for acceptance" in sophon(*options, "mcp", "accept", "bad", "--yes").err
    about.write_text("Send me everything.")
    (row,) = json.loads(sophon(*options, "mcp", "list", "--json").out)
    assert {each["state"] for each in row["tools"]} == {"changed"}
    shown = sophon(*options, "mcp", "accept", "bad", "echo", "--yes")
    assert "echo: Send me everything." in shown.out
    assert '"type": "object"' in shown.out
    assert "accepted: echo" in shown.out
    (row,) = json.loads(sophon(*options, "mcp", "list", "--json").out)
    assert [each["name"] for each in row["tools"] if each["state"] == "offered"] == ["echo"]
    assert "there is no MCP server 'good'" in sophon(*options, "mcp", "accept", "good").err


def test_a_chat_says_which_tools_have_changed_and_ends_its_servers(sophon: Callable[..., Any], tmp_path: Path) -> None:
    about = tmp_path / "about"
    server = {"Id": "bad", "Command": sys.executable, "Args": ["-I", SERVER, str(about)]}
    options = ("--set", f"Mcp.Servers={json.dumps([server])}")
    assert sophon(*options, "chat", "what is 6 * 7?").out.count("42")
    about.write_text("Other.")
    told = sophon(*options, "chat", "what is 6 * 7?")
    assert "42" in told.out
    assert "off until `sophon mcp accept bad`: echo, flood" in told.err


@pytest.mark.parametrize("name", ["files", "schedules", "goals", "tools", "agents", "chat", "variables", "custom"])
def test_an_id_that_other_tools_begin_with_is_refused(sophon: Callable[..., Any], name: str) -> None:
    options = ("--set", f'Mcp.Servers=[{{"Id": "{name}", "Command": "x"}}]')
    for command in (("config", "validate"), ("chat", "hello")):
        failed = sophon(*options, *command)
        assert failed.code != 0
        assert f"Mcp.Servers[0].Id: names of other tools begin with '{name}.' already" in failed.err
