"""`serve` without typer takes what typer takes, and leaves the rest to it."""

import pytest
from typer.main import get_command

from sophon_hosting.cli.global_options import GlobalOptions, hoist_global_options
from sophon_hosting.programs import direct_serve
from sophon_hosting.programs import serve as command

PLAIN = [
    ["serve"],
    ["serve", "--port", "0"],
    ["serve", "--host", "::1", "--port", "8081", "--log", "json"],
    ["serve", "--port", "1", "--port", "2"],
    ["serve", "--no-worker", "--port", "0"],
    ["--set", "A.B=1", "serve", "--set", "C.D=2", "--debug", "--settings", "my.json"],
]


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_typer_and_the_direct_way_run_the_same_host(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[object, ...]] = []

    def run_host(options: GlobalOptions, *arguments: object, runs_turns: bool) -> int:
        assert runs_turns is ("--no-worker" not in words)
        runs.append((options, *arguments))
        return 7

    monkeypatch.setattr("sophon_hosting.programs.serve_host.run_host", run_host)
    monkeypatch.setattr(command, "run_host", run_host)
    assert direct_serve.run_serve(words) == 7
    from sophon_hosting.cli.app import app

    assert get_command(app).main(args=hoist_global_options(words), standalone_mode=False) == 7
    assert len(runs) == 2
    assert runs[0] == runs[1]


def test_an_error_and_an_interruption_end_as_with_typer(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def fail(*_: object, **__: object) -> int:
        raise ValueError("no way")

    monkeypatch.setattr("sophon_hosting.programs.serve_host.run_host", fail)
    assert direct_serve.run_serve(["serve"]) == 1
    assert "no way" in capsys.readouterr().err

    def interrupt(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("sophon_hosting.programs.serve_host.run_host", interrupt)
    assert direct_serve.run_serve(["serve"]) == 130
