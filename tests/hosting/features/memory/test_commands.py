"""`sophon memory`: what is kept of a person, seen, corrected, exported, imported and forgotten."""

import json
from pathlib import Path

import pytest

from sophon_hosting.cli.app import run_command_line

LINE = {"id": "a", "text": "Ada lives in Oslo", "created_at": "2026-01-01T00:00:00+00:00", "sources": []}


def test_what_is_kept_of_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.chdir(tmp_path)

    def run(*words: str, code: int = 0) -> str:
        assert run_command_line(["memory", *words]) == code
        return "".join(capsys.readouterr())

    Path("in.jsonl").write_text(f"{json.dumps(LINE)}\n\n{json.dumps({**LINE, 'id': 'b', 'sources': None})}\n")
    assert "2 entries" in run("import", "in.jsonl")
    assert "Oslo" in run("search", "where does she live")
    assert "Nothing" in run("list", "--user", "eve")
    assert "it may come from unknown" in run("show", "b")
    run("correct", "b", "Ada lives in Bergen")
    assert "trusted:     yes" in run("show", "b")
    run("export", "-o", "out.jsonl")
    exported = [json.loads(line)["text"] for line in Path("out.jsonl").read_text().splitlines()]
    assert exported == ["Ada lives in Oslo", "Ada lives in Bergen"]
    assert "b is forgotten" in run("forget", "b", "--yes")
    assert [each["id"] for each in json.loads(run("list", "--json"))] == ["a"]
    assert "give the id of an entry, or --all" in run("forget", code=1)
    assert "1 entries of local are forgotten" in run("forget", "--all", "--yes")
    Path("bad.jsonl").write_text('{"id": "a"')
    assert "line 1: not JSON" in run("import", "bad.jsonl", code=1)
