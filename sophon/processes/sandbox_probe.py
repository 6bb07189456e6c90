"""Probe of the sandbox on this machine: whether bubblewrap is installed and may create its namespaces."""

import asyncio
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from sophon.errors import ToolError
from sophon.processes.memory_cap import find_memory_folder
from sophon.processes.process_cap import NO_CAP, find_group_folder, needs_group
from sophon.processes.resource_usage import CHILDREN_FILE
from sophon.processes.sandbox_policy import Sandbox, SandboxLimits, SandboxPolicy
from sophon.processes.sandbox_runner import run_in_sandbox

OPTIONAL_ARGUMENTS = ("--disable-userns",)
"""Arguments that older versions of bubblewrap do not know, and that only make less of the kernel reachable."""

REQUIRED_ARGUMENTS = ("--size", "--json-status-fd", "--block-fd", "--die-with-parent")
"""Arguments that a version of bubblewrap must know; all are known since 0.5."""

NO_NAMESPACE_LOCK = "for root this version of bubblewrap is too old: it has no --disable-userns"
"""Problem of versions before 0.8, if processes must be counted by a control group."""

PROBE_SECONDS = 10.0
"""Time for the probe; it takes about 20 ms."""


_PROBED: dict[str, Sandbox] = {}
"""By program, as long as this process: a guard that decides and the tool that runs must not disagree."""


async def probe_sandbox(program: str) -> Sandbox:
    """Return the sandbox of this machine, after a program has run in it; `program` is bubblewrap's name or path.

    The result is kept: an installation while the host runs is found at its next start. Never raises.
    """
    if program not in _PROBED:
        found = await _probe(program)
        _PROBED.setdefault(program, found)
    return _PROBED[program]


def find_probed(program: str) -> Sandbox | None:
    """Return what `probe_sandbox` has found in this process, None before."""
    return _PROBED.get(program)


async def _probe(program: str) -> Sandbox:
    if sys.platform != "linux":
        return Sandbox(program, problem="there is a sandbox on Linux only")
    path = shutil.which(program)
    if path is None:
        return Sandbox(program, problem=f"bubblewrap ({program}) is not installed")
    if not CHILDREN_FILE.exists():
        return Sandbox(path, problem="the kernel does not list the children of a process (CONFIG_PROC_CHILDREN)")
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await _try_program(path)
    except (ToolError, OSError, TimeoutError) as error:
        return Sandbox(path, problem=f"bubblewrap cannot start here: {error or 'it does not answer'}")


async def _try_program(path: str) -> Sandbox:
    known = await _read_help(path)
    missing = [argument for argument in REQUIRED_ARGUMENTS if argument not in known]
    if missing:
        return Sandbox(path, problem=f"this version of bubblewrap is too old: it has no {', '.join(missing)}")
    sandbox = _cap_processes(Sandbox(path, tuple(each for each in OPTIONAL_ARGUMENTS if each in known)))
    if sandbox.problem:
        return sandbox
    sandbox = _cap_memory(sandbox)
    from tempfile import TemporaryDirectory  # lazy: it imports random, and `import sophon` must stay fast

    with TemporaryDirectory() as folder:
        policy = SandboxPolicy(Path(folder), SandboxLimits(seconds=PROBE_SECONDS))
        result = await run_in_sandbox(sandbox, ["/bin/sh", "-c", "exit 0"], policy, {})
    if result.code != 0:
        return Sandbox(path, problem=f"a program in the sandbox ended with exit code {result.code}: {result.stderr}")
    return sandbox


def _cap_processes(sandbox: Sandbox) -> Sandbox:
    """Return the sandbox with the means by which the kernel limits the number of its processes, or the problem."""
    if not needs_group():
        return sandbox
    if "--disable-userns" not in sandbox.options:  # with mounts of its own root could change the group from within
        return replace(sandbox, problem=f"{NO_NAMESPACE_LOCK}; or run the host under an account without privileges")
    folder = find_group_folder(Path("/proc/self/cgroup").read_text())
    return replace(sandbox, problem=NO_CAP) if folder is None else replace(sandbox, group_folder=folder)


def _cap_memory(sandbox: Sandbox) -> Sandbox:
    """Return the sandbox with the folder of control groups for the memory, if any can be created."""
    membership = Path("/proc/self/cgroup").read_text()
    return replace(sandbox, memory_folder=find_memory_folder(membership, sandbox.group_folder))


async def _read_help(path: str) -> frozenset[str]:
    process = await asyncio.create_subprocess_exec(
        path,
        "--help",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={},
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    return frozenset(output.decode(errors="replace").split())
