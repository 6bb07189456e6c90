"""`sophon persons`: everything of a person, exported, forgotten and brought back."""

import json
from pathlib import Path

import pytest

from sophon_hosting.cli.app import run_command_line
from sophon_hosting.store_lease import StoreLease
from tests.databases import SQLITE, copy_database
from tests.hosting.conftest import Command

LINE = {"id": "a", "text": "Ada plays the bassoon", "created_at": "2026-01-01T00:00:00+00:00", "sources": []}


def test_a_person_is_exported_forgotten_and_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.chdir(tmp_path)
    copy_database(tmp_path)
    Path("appsettings.json").write_text(json.dumps({"Sophon": {"Hub": {"Port": 1}}}))  # where no host can run

    def run(*words: str, code: int = 0) -> str:
        assert run_command_line([*words]) == code
        return "".join(capsys.readouterr())

    Path("in.jsonl").write_text(json.dumps(LINE))
    run("memory", "import", "in.jsonl", "--user", "ada")
    assert "3 lines" in run("persons", "export", "ada", "-o", "memory-only.jsonl")
    exported = [json.loads(line) for line in Path("memory-only.jsonl").read_text().splitlines()]
    assert [each["kind"] for each in exported] == ["person", "memory", "account"]
    assert "exists already" in run("persons", "export", "ada", "-o", "in.jsonl", code=1)
    assert "is no person" in run("persons", "forget", "system", "--yes", code=1)
    with StoreLease(SQLITE, folder=tmp_path):
        assert "already using this store" in run("persons", "forget", "ada", "--yes", code=1)
    assert "ada is forgotten: 1 memories" in run("persons", "forget", "ada", "--yes")
    assert "nothing was kept" in run("persons", "forget", "ada", "--yes")
    assert "0 sessions and 1 memory entries" in run("persons", "import", "memory-only.jsonl", "--user", "ada")
    assert "bassoon" in run("memory", "list", "--user", "ada")
    Path("bad.jsonl").write_text('{"kind": 1}\n{')
    assert "line 2: not JSON" in run("persons", "import", "bad.jsonl", "--user", "ada", code=1)


def test_an_export_of_nobody_says_so(sophon: Command) -> None:
    assert "nothing is kept of 'lcoal'" in sophon("persons", "export", "lcoal", "-o", "nobody.jsonl").err
    sophon("chat", "What is 2 + 2?")
    assert "nothing" not in sophon("persons", "export", "local", "-o", "somebody.jsonl").err
