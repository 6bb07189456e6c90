"""`sophon sessions import`: a file becomes sessions of the local user."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon_hosting.features.sessions import commands as sessions
from tests.hosting.features.imports.exports import chatgpt_conversation, claude_conversation

Command = Callable[..., Any]


def test_a_file_is_tried_imported_and_not_imported_twice(sophon: Command, folder: Path) -> None:
    items = [chatgpt_conversation(), claude_conversation(chat_messages=[])]
    (folder / "conversations.json").write_text(json.dumps(items))
    tried = sophon("sessions", "import", "conversations.json", "--dry-run")
    assert tried.out.splitlines() == [
        "1 would be imported, 1 skipped.",
        "  Notes on reeds: it has no messages",
    ]
    assert "There are no sessions" in sophon("sessions", "list").out
    assert "1 imported, 1 skipped." in sophon("sessions", "import", "conversations.json").out
    assert "Woodwinds" in sophon("sessions", "list").out
    assert "oboe" in sophon("sessions", "search", "oboe").out
    again = sophon("sessions", "import", "conversations.json", "--json").json
    assert (again["imported"], again["not_imported"][0]["reason"]) == (0, "it is here already")
    of_ada = sophon("sessions", "import", "conversations.json", "--user", "telegram:5")
    assert "1 imported" in of_ada.out
    refused = sophon("sessions", "import", "conversations.json", "--user", "nobody")
    assert (refused.code, "there is no user 'nobody'; there are local" in refused.err) == (1, True)


def test_a_file_that_is_none_is_one_line(sophon: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cannot be read" in sophon("sessions", "import", "none.json").err
    (folder / "text.json").write_text("hello")
    refused = sophon("sessions", "import", "text.json")
    assert (refused.code, len(refused.err.splitlines())) == (1, 1)
    monkeypatch.setattr(sessions, "MAX_FILE_BYTES", 3)
    assert "too large" in sophon("sessions", "import", "text.json").err
