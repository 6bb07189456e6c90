"""`make bench`: its parts are listed with their baselines, and one that breaks off does not stop the others."""

from pathlib import Path

import pytest

import tests.bench.__main__ as bench


def test_each_part_is_listed_with_its_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(bench.PARTS)
    for name in ("mcp_calls", "mcp_client_calls", "skills", "memory", "chains", "traces"):
        assert any(line.startswith(f"{name} ") and line.partition("beside: ")[2] for line in lines)
        assert (Path(bench.__file__).parent / f"{name}.py").is_file()


def test_a_part_that_breaks_off_is_named_and_the_next_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[str] = []

    async def break_off() -> None:
        raise OSError("no port")

    async def measure() -> None:
        measured.append("second")

    monkeypatch.setattr(bench, "PARTS", {"first": ("nothing", break_off), "second": ("nothing", measure)})
    assert bench.main([]) == 1
    assert measured == ["second"]
    printed = capsys.readouterr()
    assert "first broke off: OSError: no port" in printed.out
    assert printed.err == "broke off: first\n"


@pytest.mark.parametrize("argument", ["nothing", "--nothing"])
def test_what_is_no_part_is_refused(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main([argument]) == 2
    assert "unknown" in capsys.readouterr().err
