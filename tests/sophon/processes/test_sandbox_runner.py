"""Programs in a real sandbox: what they can do, and the attacks that end in it. Beside them, the same without it."""

import asyncio
import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sophon.errors import ToolError
from sophon.processes import sandbox_probe, sandbox_runner
from sophon.processes.command_result import CommandResult
from sophon.processes.process_cap import SPARE_PROCESSES
from sophon.processes.resource_usage import TreeUsage
from sophon.processes.sandbox_policy import Sandbox, SandboxLimits, SandboxPolicy
from sophon.processes.sandbox_probe import probe_sandbox
from sophon.processes.sandbox_runner import find_excess, run_in_sandbox
from tests.bubblewrap import require_sandbox
from tests.programs import run_command
from tests.tables import table

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
FORTY = (
    "perl -e '$| = 1; for (1..40) { $p = fork; next if !defined $p; $p or exec qw(sleep 1); print qq(1\\n) } sleep 1'"
)
"""Bounded: processes without end would take the machine with them where the limit does not hold."""
MEMORY_HOG = "perl -e 'my @all; while (1) { push @all, \"a\" x 10_000_000 }'"
MEGABYTE = 1024 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working folder, beside a file of the host."""
    (tmp_path / "sophon.db").write_text("private")
    working = tmp_path / "files"
    working.mkdir()
    return working


async def run(
    command: str, folder: Path, *, environment: Mapping[str, str] = ENVIRONMENT, limits: SandboxLimits | None = None
) -> CommandResult:
    sandbox = await require_sandbox()
    policy = SandboxPolicy(folder, limits or SandboxLimits(seconds=30))
    return await run_in_sandbox(sandbox, ["/bin/sh", "-c", command], policy, environment)


async def test_output_exit_code_and_files_are_those_of_the_program(folder: Path) -> None:
    result = await run("pwd; echo err >&2; echo kept > made.txt; exit 3", folder)
    assert result == CommandResult(3, f"{folder}\n", "err\n")
    assert (folder / "made.txt").read_text() == "kept\n"


ESCAPES = {
    "a file of the host": "cat ../sophon.db",
    "its whole path": 'cat "$PWD/../sophon.db"',
    "a link out of the folder": "ln -sf ../sophon.db link && cat link",
    "the root of another process": "cat /proc/1/root$PWD/../sophon.db /proc/[0-9]*/root$PWD/../sophon.db",
}


@pytest.mark.parametrize("command", ESCAPES.values(), ids=ESCAPES)
async def test_a_file_outside_the_folder_does_not_exist(folder: Path, command: str) -> None:
    result = await run(command, folder)
    assert result.code != 0
    assert "private" not in result.stdout
    assert "private" in (await run_command(command, folder, ENVIRONMENT)).stdout  # without the sandbox


async def test_a_link_that_was_there_before_leads_nowhere(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent / "sophon.db")
    assert (await run("cat link || echo changed > link", folder)).stdout == ""
    assert (folder.parent / "sophon.db").read_text() == "private"


@pytest.mark.parametrize("path", ["/usr/x", "/etc/x", "/x", "/dev/x", "/proc/x", "/run/x"])
async def test_nothing_outside_the_folder_can_be_written(folder: Path, path: str) -> None:
    assert (await run(f"echo x > {path}", folder)).code != 0


async def test_what_is_written_beside_the_folder_is_not_written_to_the_host(folder: Path) -> None:
    await run("echo changed > ../sophon.db; echo x > ../new", folder)
    assert [(each.name, each.read_text()) for each in folder.parent.glob("*.db")] == [("sophon.db", "private")]
    assert not (folder.parent / "new").exists()


async def test_homes_secrets_of_the_system_and_other_processes_are_not_there(folder: Path) -> None:
    result = await run("ls /root /home /srv /etc/shadow /sys; ls -d /proc/[0-9]* | wc -l", folder)
    assert int(result.stdout) <= 4
    assert result.stderr.count("No such file or directory") == 5


async def test_it_gets_the_given_environment_and_no_input(folder: Path) -> None:
    result = await run("cat; env | sort", folder, environment={**ENVIRONMENT, "COLOUR": "green"})
    assert result.stdout.splitlines() == ["COLOUR=green", f"PATH={ENVIRONMENT['PATH']}", f"PWD={folder}"]


async def test_it_inherits_no_open_file(folder: Path) -> None:
    with (folder.parent / "sophon.db").open() as file:
        os.set_inheritable(file.fileno(), True)
        assert "sophon.db" not in (await run("ls -l /proc/self/fd", folder)).stdout


async def test_it_reaches_no_server_of_the_host(folder: Path) -> None:
    connected = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connect = f"perl -MSocket -e 'socket S,2,1,0; connect(S,pack_sockaddr_in({port},inet_aton(\"127.0.0.1\"))) or die'"
    async with server:
        assert (await run(connect, folder)).code != 0
        assert not connected.is_set()
        assert (await run_command(connect, folder, ENVIRONMENT)).code == 0  # without the sandbox
        await connected.wait()


async def test_it_has_no_capability_and_makes_no_namespace(folder: Path) -> None:
    result = await run("grep CapEff /proc/self/status; unshare --user true", folder)
    assert result.stdout == "CapEff:\t0000000000000000\n"
    assert result.code != 0


LIMITS = {
    "processes": (FORTY, SandboxLimits(processes=20, seconds=30), "it had more than 20 processes and threads"),
    "memory": (MEMORY_HOG, SandboxLimits(64 * MEGABYTE, seconds=30), "it used more than 64 MB of memory"),
    "memory of many": (
        "for i in 1 2 3 4; do perl -e '$x = \"a\" x 15_000_000; sleep 30' & done; wait",
        SandboxLimits(64 * MEGABYTE, seconds=30),
        "it used more than 64 MB of memory",
    ),
    "output": ("yes", SandboxLimits(output_bytes=100 * 1024, seconds=30), "it wrote more than 100 KB"),
    "time": ("setsid sleep 1000 & sleep 1000", SandboxLimits(seconds=0.2), "it ran for more than 0.2 seconds"),
}


@pytest.mark.parametrize(("command", "limits", "reason"), LIMITS.values(), ids=LIMITS)
async def test_a_program_that_exceeds_a_limit_is_stopped_and_says_which(
    folder: Path, command: str, limits: SandboxLimits, reason: str
) -> None:
    result = await run(command, folder, limits=limits)
    # bubblewrap may end first and tell the signal of the program as the shell does.
    assert (result.stopped, result.code in (-signal.SIGKILL, 128 + signal.SIGKILL)) == (reason, True)


SIX_AT_ONCE = "for i in 1 2 3 4 5 6; do perl -e '$x = \"a\" x 45_000_000; print qq(kept\\n); sleep 1' & done; wait"
"""Each process stays below RLIMIT_DATA, and all together above the memory of a sandbox with 64 MB."""


async def test_the_kernel_stops_a_tree_above_the_cap_before_anything_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (await require_sandbox()).memory_folder is None:
        pytest.skip("no control group for memory can be created here")
    monkeypatch.setattr(sandbox_runner, "measure_usage", lambda process, limits: TreeUsage(0, 0))
    limits = SandboxLimits(64 * MEGABYTE, seconds=30)
    result = await run(SIX_AT_ONCE, folder, limits=limits)
    assert result.stopped == "it used more than 64 MB of memory"
    assert result.stdout.count("kept") < 6

    sandbox = replace(await require_sandbox(), memory_folder=None)
    uncapped = await run_in_sandbox(sandbox, ["/bin/sh", "-c", SIX_AT_ONCE], SandboxPolicy(folder, limits), ENVIRONMENT)
    assert (uncapped.stopped, uncapped.stdout.count("kept")) == ("", 6)  # without the group nothing stops it


async def test_the_kernel_starts_no_process_above_the_cap_however_fast_they_are_started(folder: Path) -> None:
    started = (await run(FORTY, folder, limits=SandboxLimits(processes=10, seconds=30))).stdout.split()
    assert 8 <= len(started) <= 10 + SPARE_PROCESSES
    assert len((await run_command(FORTY, folder, ENVIRONMENT)).stdout.split()) == 40  # without the sandbox


async def test_output_above_the_limit_is_said_also_of_a_program_that_has_ended(folder: Path) -> None:
    result = await run("head -c 5000 /dev/zero", folder, limits=SandboxLimits(output_bytes=1024))
    assert result.stopped == "it wrote more than 1 KB"


async def test_files_in_memory_are_limited(folder: Path) -> None:
    limits = SandboxLimits(memory_bytes=32 * MEGABYTE, seconds=30)
    assert "No space left" in (await run("head -c 40000000 /dev/zero > /tmp/x", folder, limits=limits)).stderr


@table(
    ("usage", "seconds", "found"),
    [
        (TreeUsage(64, 512 * MEGABYTE), 60.0, ""),
        (TreeUsage(65, 0), 0.0, "it had more than 64 processes and threads"),
        (TreeUsage(1, 512 * MEGABYTE + 1), 0.0, "it used more than 512 MB of memory"),
        (TreeUsage(1, 0), 60.1, "it ran for more than 60 seconds"),
    ],
)
def test_excess_is_above_the_limit(usage: TreeUsage, seconds: float, found: str) -> None:
    assert find_excess(SandboxLimits(), usage, seconds) == found


class Listener(asyncio.Protocol):
    """Read end of a named pipe: `begun` once something was written, `over` when nobody has it open for writing."""

    def __init__(self) -> None:
        self.begun, self.over = asyncio.Event(), asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.begun.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.over.set()


@pytest.mark.parametrize("command", ["sleep 1000", "setsid sh -c 'sleep 1000' & trap '' TERM INT; sleep 1000"])
async def test_a_cancelled_call_leaves_no_process(folder: Path, command: str) -> None:
    os.mkfifo(folder / "pipe")
    listener, read_end = Listener(), os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    held = os.open(folder / "pipe", os.O_WRONLY)  # until the command has it open too
    await asyncio.get_running_loop().connect_read_pipe(lambda: listener, os.fdopen(read_end, "rb", buffering=0))
    call = asyncio.create_task(run(f"exec 5> pipe; echo >&5; {command}", folder))
    await listener.begun.wait()
    os.close(held)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(listener.over.wait(), 10)


async def test_a_process_in_the_background_ends_with_the_call(folder: Path) -> None:
    result = await asyncio.wait_for(run("setsid sleep 1000 & echo over", folder), 20)
    assert result.stdout == "over\n"


async def test_a_sandbox_that_cannot_be_set_up_runs_nothing(folder: Path) -> None:
    sandbox = await require_sandbox()
    policy = SandboxPolicy(folder, SandboxLimits(), writable=(folder / "missing",))
    with pytest.raises(ToolError, match=r"the sandbox could not be started: .*missing"):
        await run_in_sandbox(sandbox, ["/bin/sh", "-c", "echo x > made"], policy, ENVIRONMENT)
    assert not (folder / "made").exists()


async def test_a_program_that_is_not_there_is_an_exit_code_or_an_error(folder: Path) -> None:
    sandbox = await require_sandbox()
    with pytest.raises(ToolError, match="could not be started"):
        await run_in_sandbox(Sandbox("/nowhere/bwrap"), ["true"], SandboxPolicy(folder, SandboxLimits()), {})
    with pytest.raises(ToolError, match="could not be started"):
        await run_in_sandbox(sandbox, ["a\0b"], SandboxPolicy(folder, SandboxLimits()), {})


PROGRAMS = {
    "forbidden by the kernel": (
        '#!/bin/sh\ncase "$1" in --help) echo --size --json-status-fd --block-fd --die-with-parent --disable-userns;;\n'
        "*) echo 'bwrap: No permissions to create new namespace' >&2; exit 1;; esac",
        "bubblewrap cannot start here: the sandbox could not be started: bwrap: No permissions",
    ),
    "too old": ("#!/bin/sh\necho --size --block-fd", "too old: it has no --json-status-fd, --die-with-parent"),
    "not a program": ("nonsense", "bubblewrap cannot start here"),
    "silent": ("#!/bin/sh\nexit 0", "too old"),
}


@pytest.mark.parametrize(("content", "problem"), PROGRAMS.values(), ids=PROGRAMS)
async def test_a_machine_without_a_sandbox_is_described(tmp_path: Path, content: str, problem: str) -> None:
    program = tmp_path / "bwrap"
    program.write_text(content)
    program.chmod(0o755)
    assert problem in (await probe_sandbox(str(program))).problem


async def test_what_was_found_stays_until_the_process_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    assert "is not installed" in (await probe_sandbox(str(program))).problem
    program.write_text("#!/bin/sh\nexit 0")
    program.chmod(0o755)
    assert "is not installed" in (await probe_sandbox(str(program))).problem
    monkeypatch.setattr(sandbox_probe, "_PROBED", {})
    assert "too old" in (await probe_sandbox(str(program))).problem


async def test_nothing_is_left_open_or_unreaped(folder: Path) -> None:
    await run("true", folder)
    await asyncio.sleep(0)  # a closed transport lets go of its pipe in the loop's next turn
    before, processes = len(list(Path("/proc/self/fd").iterdir())), children()
    await run("setsid sleep 1000 & echo x", folder)
    await run("sleep 1000", folder, limits=SandboxLimits(seconds=0.05))
    await asyncio.sleep(0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert children() == processes


def children() -> set[str]:
    return {pid for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()}


FULL = replace(SandboxLimits(seconds=30), folder_bytes=4 * MEGABYTE)
FILL = {
    "one file": "head -c 20000000 /dev/zero > big.bin; echo done",
    "many files": "for n in $(seq 1 40); do head -c 500000 /dev/zero > $n.bin; sleep 0.05; done; sleep 20",
    "many empty files": "seq 1 3000 | xargs touch; sleep 20",
    "a part that is too deep": "D=$(printf %0200d 0); seq 30 | while read n; do mkdir $D; cd $D; done; sleep 9",
}


@pytest.mark.parametrize("command", FILL.values(), ids=FILL.keys())
async def test_a_program_that_fills_its_folder_is_stopped(folder: Path, command: str) -> None:
    result = await run(command, folder, limits=FULL)
    assert "its files folder would hold more than 4 MB" in result.stopped
    assert sum(each.stat().st_size for each in folder.iterdir()) < 12 * MEGABYTE


async def test_what_earlier_programs_left_counts_and_a_full_folder_can_be_emptied(folder: Path) -> None:
    (folder / "old.bin").write_bytes(bytes(5 * MEGABYTE))
    refused = await run("exec head -c 10 /dev/zero > new.bin", folder, limits=FULL)
    assert "its files folder would hold more than 4 MB" in refused.stopped
    assert (await run("rm old.bin", folder, limits=FULL)).code == 0
    assert (await run("echo new > new.bin; cat new.bin", folder, limits=FULL)).stdout == "new\n"


async def test_the_folders_of_other_people_do_not_count(folder: Path) -> None:
    others = folder / "others"
    others.mkdir()
    (others / "big.bin").write_bytes(bytes(5 * MEGABYTE))
    policy = SandboxPolicy(folder, FULL, hidden=(others,))
    sandbox = await require_sandbox()
    result = await run_in_sandbox(sandbox, ["/bin/sh", "-c", "echo mine > mine; cat mine"], policy, ENVIRONMENT)
    assert (result.stdout, result.stopped) == ("mine\n", "")
