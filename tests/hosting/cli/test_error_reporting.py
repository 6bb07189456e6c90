"""A mistake gets one clear line and an exit code, never a traceback."""

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hosting.conftest import PROGRAM, clean_environment

Command = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["chat", ""], 1, "the message is empty"),
        (["chat", "   "], 1, "the message is empty"),
        (["chat", "--model", "offlin", "hi"], 1, "there is no model 'offlin'; did you mean 'offline'"),
        (["chat", "--planning", "often", "hi"], 2, "--planning: 'often' is not a planning mode"),
        (["chat", "--approve-up-to", "mild", "hi"], 2, "'mild' is not a risk"),
        (["chat", "--session", "a", "--new", "hi"], 2, "do not go together"),
        (["chat", "--modle", "x", "hi"], 2, "no such option: --modle"),
        (["chat", "--set", "Hub.Prot=1", "hi"], 1, "Hub.Prot: unknown setting; did you mean Port?"),
        (["--set", "Hub", "chat", "hi"], 1, "--set: setting 1 has no =; write it as Hub.Port=8081\n"),
        (["--set", "=", "chat", "hi"], 1, "--set: setting 1 has no name before the =; write it as Hub.Port=8081\n"),
        (["--settings", "none.json", "chat", "hi"], 1, "none.json: there is no such file"),
        (["chat", "--set", "Chain.Name=twelv", "hi"], 1, "there is no chain 'twelv'; did you mean 'twelve'?"),
        (["chat", "--set", "Chain.Factory=nowhere:made", "hi"], 1, "Chain.Factory: there is no module 'nowhere'"),
        (["chat", "--set", "Store.Url=mysql://x", "hi"], 1, "unknown kind of store"),
        (["chain", "twelv"], 2, "there is no chain 'twelv'; did you mean 'twelve'?"),
        (["chain", "nope"], 2, "there is no chain 'nope'; there are clawdesk, clawft, openparallax, twelve, wasp; see"),
        (["--set", "Chain.Name=WASP", "status"], 1, "there is no chain 'WASP'; did you mean 'wasp'?"),
        (["--set", "Chain.Name=nope", "decide", "hi"], 1, "there is no chain 'nope'; there are clawdesk,"),
        (["sessions", "show", "none"], 1, "there is no session 'none'"),
        (["sessions", "export", "none"], 1, "there is no session 'none'"),
        (["sessions", "fork", "none"], 1, "there is no session 'none'"),
        (["sessions", "delete", "none", "--yes"], 1, "there is no session 'none'"),
        (["usage", "--session", "none"], 1, "there is no session 'none'"),
        (["usage", "--days", "0"], 2, "--days"),
        (["usage", "--days", "99999999999"], 2, "--days"),
        (["sessions", "fork", "none", "--upto", "99999999999999999999"], 2, "--upto"),
        (["snapshots", "diff", "abc"], 2, "invalid value for 'NUMBER': it must be a whole number; see"),
        (["snapshots", "diff", "0"], 2, "invalid value for 'NUMBER': it must be at least 1; see"),
        (["chta"], 2, "there is no command 'chta'; did you mean chat or chain? (see sophon --help)\n"),
        (["sessions", "shwo"], 2, "there is no command 'shwo'; did you mean show? (see sophon sessions --help)\n"),
        (
            ["sessions"],
            2,
            "missing command; commands: list, search, show, export, import, fork, rename, pin, archive, delete; "
            "see sophon sessions",
        ),
    ],
)
def test_a_mistake_is_one_line(sophon: Command, arguments: list[str], code: int, says: str) -> None:
    done = sophon(*arguments)
    assert done.code == code
    assert says in done.err
    notice, prefix, error = done.err.partition("error: ")
    assert prefix
    assert notice in ("", "no host runs at http://127.0.0.1:0; using the store\n")
    assert error.count("\n") == 1
    assert done.out == ""


def test_a_broken_settings_file_is_told_with_its_line(sophon: Command, folder: Path) -> None:
    (folder / "appsettings.json").write_text('{\n  "Sophon": {\n    "Hub": {"Port": 1,}\n  }\n}\n')
    done = sophon("chat", "hi")
    assert done.code == 1
    assert "appsettings.json: line 3" in done.err
    assert done.err.count("\n") == 1


def test_every_problem_with_the_settings_has_its_line(sophon: Command, folder: Path) -> None:
    (folder / "appsettings.json").write_text('{"Sophon": {"Hub": {"Prot": 1}, "Tools": {"MaxParallel": "many"}}}')
    done = sophon("chat", "hi")
    assert len(done.err.splitlines()) == 2
    assert "Hub.Prot" in done.err
    assert "Tools.MaxParallel" in done.err


def test_a_missing_key_is_told_by_the_name_of_its_variable(sophon: Command) -> None:
    provider = '[{"Id": "openai", "Type": "openai", "Models": ["gpt-5-mini"], "Keys": [{"$env": "NO_SUCH_KEY"}]}]'
    done = sophon("chat", "--set", f"Providers={provider}", "hi")
    assert done.code == 1
    assert "NO_SUCH_KEY" in done.err
    assert done.err.count("\n") == 1


def test_a_message_larger_than_the_window_is_refused_before_any_call(process: Command, sophon: Command) -> None:
    done = process("chat", lines="word " * 40_000 + "\n")
    assert done.code == 1
    assert "the message is too large" in done.err
    assert done.err.count("\n") == 1
    assert sophon("usage", "--json").json == []


ODD = """
from sophon import Pipeline
from sophon_middlewares.chains import twelve


class Odd(Pipeline):
    def explain(self):
        raise RuntimeError("oh no")


def chain(services):
    return Odd.compose(*twelve(services))
"""


def test_an_unexpected_error_is_one_line_and_debug_shows_where(sophon: Command, folder: Path) -> None:
    (folder / "broken_chain.py").write_text(ODD)
    quiet = sophon("chain", "--set", "Chain.Factory=broken_chain:chain")
    assert quiet.code == 1
    assert quiet.err == "error: unexpected RuntimeError: oh no; run it with --debug for the traceback\n"
    assert "Traceback" in sophon("--debug", "chain", "--set", "Chain.Factory=broken_chain:chain").err


@pytest.mark.parametrize("flags", [(), ("--debug",)])
def test_an_unexpected_error_and_its_traceback_show_no_key(
    sophon: Command, folder: Path, flags: tuple[str, ...]
) -> None:
    key = "sk-proj-Canary0123456789"
    (folder / "leaky.py").write_text(ODD.replace("oh no", f"no access with {key}"))
    done = sophon(*flags, "chain", "--set", "Chain.Factory=leaky:chain")
    shown = done.out + done.err
    assert "no access with sk" not in shown.replace("'", "")
    assert "Canary" not in shown
    assert "[REDACTED]" in shown


def test_an_empty_line_alone_is_an_empty_message(process: Command) -> None:
    done = process("chat", lines="\n  \n")
    assert done.code == 1
    assert done.err == "error: the message is empty\n"


def run_in_shell(folder: Path, redirections: str, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join((*PROGRAM, *words))} {redirections}"],
        cwd=folder,
        env=clean_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_a_closed_input_and_a_closed_log_are_no_failure(folder: Path, closed: str) -> None:
    assert run_in_shell(folder, closed, "models") == (0, "")


def test_what_a_closed_output_loses_is_one_line(folder: Path) -> None:
    for words in (("models",), ("chat", "What is 6 * 7?"), ("--help",)):
        code, said = run_in_shell(folder, ">&-", *words)
        assert code == 1, words
        assert said.splitlines()[-1] == "error: the output cannot be written: standard output is closed", words
    assert run_in_shell(folder, "<&- >&- 2>&-", "models") == (1, "")


def test_a_closed_output_of_which_nothing_is_lost_is_no_failure(folder: Path) -> None:
    assert run_in_shell(folder, ">&-", "memory", "export", "-o", "all.jsonl")[0] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_without_room_is_one_line(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "config", "show"],
            cwd=folder,
            env=clean_environment(folder),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "error: the output cannot be written: No space left on device\n")
