"""Programs that a tool runs for a turn: in the sandbox of `Guards.Sandbox`, or with the rights of the host without it.

A tool that uses this declares `sandboxed=True`, so that the guard Sandbox asks a person where there is no sandbox.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread

from sophon._python.lazy_dataclass import dataclass
from sophon._python.private_files import make_private_folder
from sophon.builtin_tools.command_environment import build_command_environment
from sophon.builtin_tools.files import resolve_files_root
from sophon.context import Context
from sophon.errors import ToolError
from sophon.extensions import Key
from sophon.principals import PRINCIPALS_FOLDER, owns_files_root
from sophon.processes.bounded_pipe import share_result
from sophon.processes.command_result import CommandResult
from sophon.processes.command_runner import run_unconfined
from sophon.processes.sandbox_policy import Sandbox, SandboxLimits, SandboxPolicy, find_exposed_files
from sophon.processes.sandbox_probe import find_probed, probe_sandbox
from sophon.processes.sandbox_runner import run_in_sandbox
from sophon.settings import Settings
from sophon.settings.host_files import find_host_files
from sophon.traces.trace_context import HEADER, find_traceparent

SANDBOX_GUARDED: Key[bool] = Key("sandbox.guarded")
"""Whether the guard Sandbox has judged the calls of this turn: it asks a person about each that would run outside."""

SANDBOX_HOME = "/tmp"  # noqa: S108 - a path in the sandbox
"""Home folder of a program in a sandbox; it is empty."""


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """What one program may use, within what `Guards.Sandbox` allows all of them; outside a sandbox none of it holds.

    None stands for the limit of the settings. `readable` are further folders that it sees. A `confined` program never
    runs outside a sandbox because `Guards.Sandbox` is off; a person may still approve it where there is none.
    """

    seconds: float | None = None
    memory_bytes: int | None = None
    network: bool | None = None
    readable: tuple[Path, ...] = ()
    confined: bool = False

    def narrow(self, policy: SandboxPolicy) -> SandboxPolicy:
        """Return the policy with the stricter of the limits, and with the readable folders."""
        allowed = policy.limits
        seconds = allowed.seconds if self.seconds is None else min(allowed.seconds, self.seconds)
        memory = allowed.memory_bytes if self.memory_bytes is None else min(allowed.memory_bytes, self.memory_bytes)
        return replace(
            policy,
            limits=replace(allowed, seconds=seconds, memory_bytes=memory),
            network=policy.network and self.network is not False,
            readable=(*policy.readable, *(path.absolute() for path in self.readable)),
        )


NO_LIMITS = ProgramLimits()


async def run_program(
    ctx: Context, program: Sequence[str], *, stdin: bytes = b"", limits: ProgramLimits = NO_LIMITS
) -> CommandResult:
    """Run a program with its arguments in the files folder of the turn's data owner, with `stdin` as its input.

    With `Guards.Sandbox` it runs in the sandbox; where there is none, with the rights of the host, if the guard stands
    in the chain. As much of its output is kept as a tool result may have (`Tools.MaxResultCharacters`). Raises
    ToolError if it cannot be started, and if the sandbox would show files of the host.
    """
    settings, folder = ctx.settings, resolve_files_root(ctx)
    kept = share_result(settings.tools.max_result_characters)
    environment = build_command_environment(os.environ, settings)
    if (traceparent := find_traceparent()) is not None:
        environment[HEADER.upper()] = traceparent
    if not settings.guards.sandbox.enabled and not limits.confined:
        return await run_unconfined(program, folder, environment, stdin=stdin, kept=kept)
    sandbox = await probe_sandbox(settings.guards.sandbox.program)
    if not sandbox.problem:
        policy = await anyio.to_thread.run_sync(_prepare, ctx, limits)
        environment = build_sandbox_environment(environment)
        return await run_in_sandbox(sandbox, program, policy, environment, stdin=stdin, kept=kept)
    if not ctx.get(SANDBOX_GUARDED):
        raise ToolError(f"{describe_missing(sandbox)}, and the guard that would ask a person is not in this chain")
    return await run_unconfined(program, folder, environment, stdin=stdin, kept=kept)


def find_missing_sandbox(settings: Settings) -> str:
    """Return the sentence that there is no sandbox on this machine, "" if there is one or nobody has looked yet."""
    sandbox = find_probed(settings.guards.sandbox.program)
    return describe_missing(sandbox) if sandbox is not None and sandbox.problem else ""


def find_confinement_problem(ctx: Context, arguments: Mapping[str, Any] | None = None) -> str | None:
    """Return why a `confined` program cannot run here; None if it can, or if the guard Sandbox asks about each call."""
    missing = "" if ctx.settings.guards.sandbox.enabled else find_missing_sandbox(ctx.settings)
    return f"custom tools run in a sandbox only, and {missing}" if missing else None


def describe_missing(sandbox: Sandbox) -> str:
    """Return the sentence that there is no sandbox, and why."""
    return f"there is no sandbox: {sandbox.problem}"


def build_sandbox_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a program in a sandbox, whose home and temporary folder are its own."""
    return {**environment, "HOME": SANDBOX_HOME, "TMPDIR": SANDBOX_HOME}


def build_policy(settings: Settings, host_folder: Path, folder: Path, *, owns_root: bool) -> SandboxPolicy:
    """Return the policy of programs whose working folder is `folder`, by `Guards.Sandbox`.

    Who owns the root of all files does not see the folders of the other principals in it.
    """
    chosen = settings.guards.sandbox
    return SandboxPolicy(
        folder=folder,
        limits=SandboxLimits(
            memory_bytes=chosen.memory_mb * 1024 * 1024,
            processes=chosen.processes,
            seconds=chosen.seconds,
            folder_bytes=chosen.files_mb * 1024 * 1024,
        ),
        readable=tuple((host_folder / path.expanduser()).absolute() for path in chosen.readable),
        writable=tuple((host_folder / path.expanduser()).absolute() for path in chosen.writable),
        hidden=(folder / PRINCIPALS_FOLDER,) if owns_root else (),
        network=chosen.network,
    )


def describe_exposed(policy: SandboxPolicy, settings: Settings, host_folder: Path) -> str:
    """Return the sentence on the host's own files that programs would see, "" if they see none."""
    host_files = find_host_files(settings, host_folder, os.environ)
    exposed = find_exposed_files(policy.mounted, host_files)
    if not exposed:
        return ""
    return (
        f"programs in the sandbox would see {exposed[0]}, a file of the host; "
        "choose another Tools.FilesRoot, or another folder in Guards.Sandbox.Readable and Writable"
    )


def _prepare(ctx: Context, limits: ProgramLimits) -> SandboxPolicy:
    """Create the folders of a policy and check it; blocks, as it reads and makes folders."""
    folder, owns_root = resolve_files_root(ctx).absolute(), owns_files_root(ctx.data_owner)
    policy = limits.narrow(build_policy(ctx.settings, ctx.services.folder, folder, owns_root=owns_root))
    exposed = describe_exposed(policy, ctx.settings, ctx.services.folder)
    if exposed:
        raise ToolError(exposed)
    for each in (policy.folder, *policy.hidden):
        make_private_folder(each)
    return policy
