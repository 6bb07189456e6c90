"""Commands: what they answer, what they cannot see, and that nothing of them is left."""

import asyncio
import os
import re
from pathlib import Path

import pytest

from sophon import Context, Risk, Services
from sophon.builtin_tools.shell import format_command_result, system_execute
from sophon.errors import ToolError
from sophon.processes.bounded_pipe import STDERR_LIMIT, STDOUT_LIMIT, BoundedPipeReader
from sophon.processes.command_result import CommandResult
from tests.programs import run_command
from tests.tables import table


def runs(process: int) -> bool:
    """Whether a process exists that is more than a remnant which the system is about to reap."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


async def test_a_command_gives_its_output_and_exit_code(ctx: Context) -> None:
    text = await system_execute.invoke({"command": "echo out; echo err >&2; exit 3"}, ctx)
    assert text == "exit code 3\n--- stdout\nout\n--- stderr\nerr"


async def test_it_runs_in_the_files_folder_which_is_made(ctx: Context, root: Path) -> None:
    assert str(root.resolve()) in await system_execute.invoke({"command": "pwd"}, ctx)


async def test_it_gets_no_input(tmp_path: Path) -> None:
    assert (await run_command("cat; echo done", tmp_path, os.environ)).stdout == "done\n"


async def test_a_signal_is_told_as_one(tmp_path: Path) -> None:
    assert format_command_result(await run_command("kill -9 $$", tmp_path, os.environ)) == "ended by signal 9"


async def test_both_ends_of_a_long_output_are_kept(tmp_path: Path) -> None:
    finished = await run_command("seq 100000; seq 100000 >&2", tmp_path, os.environ)
    assert finished.stdout.startswith("1\n2\n")
    assert finished.stdout.endswith("99999\n100000\n")
    assert "bytes left out]" in finished.stdout
    assert len(finished.stdout) < STDOUT_LIMIT + 50
    assert len(finished.stderr) < STDERR_LIMIT + 50


@pytest.mark.parametrize("limit", [1000, 8000, 65_536])
async def test_as_much_of_an_output_is_kept_as_a_result_may_have(tmp_path: Path, limit: int) -> None:
    settings = {"Tools": {"MaxResultCharacters": limit, "FilesRoot": str(tmp_path)}}
    ctx = Services(settings=settings).turn("Hello", session_id="demo")
    text = await system_execute.invoke({"command": "seq 100000; seq 100000 >&2"}, ctx)
    assert limit * 0.85 < len(text) <= limit


async def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    assert (await run_command(r"printf 'a\377b'", tmp_path, os.environ)).stdout == "a\ufffdb"


async def test_what_is_left_in_the_background_ends_with_the_call(tmp_path: Path) -> None:
    finished = await run_command("sleep 1000 & echo $!", tmp_path, os.environ)
    assert finished.code == 0
    await gone(int(finished.stdout))


async def test_a_process_that_leaves_the_group_does_not_hold_the_call(tmp_path: Path) -> None:
    finished = await run_command("setsid sleep 5 & sleep 0.1; echo over", tmp_path, os.environ)
    assert finished.stdout == "over\n"


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_a_call_that_is_given_up_takes_its_whole_group_with_it(tmp_path: Path, how: str) -> None:
    command = "sleep 1000 & echo $$ $! > started.tmp; mv started.tmp started; trap '' TERM; sleep 1000"
    call = asyncio.create_task(run_command(command, tmp_path, os.environ))
    async with asyncio.timeout(30):
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.01)
    if how == "cancel":
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    else:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call, 0.01)
    for process in map(int, (tmp_path / "started").read_text().split()):
        await gone(process)


async def gone(process: int) -> None:
    async with asyncio.timeout(30):
        while runs(process):
            await asyncio.sleep(0.01)


def children() -> set[str]:
    """The process ids of this process's children, those that ended and were not reaped included."""
    return {pid for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()}


async def test_nothing_is_left_open_or_unreaped(tmp_path: Path) -> None:
    await run_command("true", tmp_path, os.environ)
    before, processes = len(list(Path("/proc/self/fd").iterdir())), children()
    for _ in range(3):
        await run_command("sleep 1000 & echo x", tmp_path, os.environ)
    with pytest.raises(ToolError):
        await run_command("a\0b", tmp_path, os.environ)
    await asyncio.sleep(0)  # a closed transport lets go of its pipe in the loop's next turn
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert children() == processes


async def test_a_folder_that_cannot_be_made_is_a_tool_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match="could not be started"):
        await run_command("true", tmp_path / "file", os.environ)


async def test_a_command_gets_the_variables_that_are_listed_and_no_others(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INNOCENT", "canary")
    text = await system_execute.invoke({"command": "env"}, ctx)
    assert "PATH=" in text
    assert "canary" not in text


async def test_no_process_between_host_and_command_has_more_of_the_environment(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INNOCENT", "canary")
    command = "p=$$; sh -c 'tr \"\\0\" \"\\n\" < /proc/$PPID/environ'; tr '\\0' '\\n' < /proc/$p/environ"
    text = await system_execute.invoke({"command": command}, ctx)
    assert text.count("PATH=") >= 2
    assert "canary" not in text


async def test_no_file_of_the_host_is_open_in_a_command(tmp_path: Path) -> None:
    secret = os.open(tmp_path / "secret", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(secret, True)
    try:
        finished = await run_command("ls -l /proc/$$/fd", tmp_path, os.environ)
    finally:
        os.close(secret)
    assert "null" in finished.stdout
    assert "secret" not in finished.stdout


@table(
    ("pieces", "expected"),
    [
        ([b"abc"], "abc"),
        ([b"abcd", b"efgh"], "abcdefgh"),
        ([b"abcdefghij"], "abcd\n[2 bytes left out]\nghij"),
        ([b"abc", b"def", b"ghi", b"j"], "abcd\n[2 bytes left out]\nghij"),
        ([b"\xc3", b"\xbc"], "ü"),
    ],
)
async def test_a_listener_keeps_both_ends(pieces: list[bytes], expected: str) -> None:
    listener = await BoundedPipeReader(8).open()
    for piece in pieces:
        listener.data_received(piece)
    listener.close()
    await listener.closed
    assert listener.text() == expected


def test_the_exit_code_comes_first() -> None:
    assert re.match("exit code 0$", format_command_result(CommandResult(0, "", "")))
    assert format_command_result(CommandResult(1, "x" * 9000, "why")).startswith("exit code 1\n")


def test_it_is_critical_alone_and_fenced() -> None:
    assert system_execute.risk is Risk.CRITICAL
    assert system_execute.serial
    assert system_execute.external
    assert system_execute.timeout_seconds == 60
