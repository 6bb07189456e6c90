"""Snapshot: copies files before a tool call writes, moves or deletes them."""

import logging
from collections.abc import Awaitable, Sequence
from pathlib import Path

from sophon.builtin_tools.files import resolve_files_root
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon.principals import LOCAL_USER
from sophon.risk import Risk
from sophon.security import describe_error
from sophon.snapshots.archive import SnapshotArchive, find_excess
from sophon.snapshots.targets import find_target_paths, find_written_accesses, may_write_file
from sophon.stores.snapshots.stored_snapshot import SnapshotEvent, SnapshotFile
from sophon.tools.declared_action_types import list_action_types
from sophon_middlewares.guards.guard import Guard, Judgement, block_at_execution
from sophon_middlewares.tool_calls.escalations import get_round_values

log = logging.getLogger("sophon.guards")

TOO_LARGE = "too_large"
FAILED = "snapshot_failed"

_ESCALATED: Key[dict[str, bool]] = Key("snapshot.escalated", dump=dict, load=dict)
"""Ids of the calls that a person was asked about because their files are too large to be copied."""


class Snapshot(Guard):
    """Copies the files in the files folder that a call is about to write, move or delete, immediately before it runs.

    A person decides on a call whose files are too large to be copied (`Guards.Snapshot.MaxFileBytes`): nothing could be
    restored. A copy that fails blocks the call. The files of a shell command are found by parsing it; what a program
    writes by itself, and files outside the files folder, are not copied. `sophon snapshots` lists and restores.
    """

    after = ("AgenticLoop", "ParallelExecution", "Protection")
    before = ("Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool call": "copies the files that a call is about to change; blocks the call if that fails"}

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | None:
        """Escalate a call whose files are too large to be copied."""
        return _judge_size(ctx, call) if _may_write(ctx, call) else None

    def check(self, ctx: Context, call: ToolCall) -> Awaitable[str | None] | None:
        """Copy the files that the call changes."""
        return _take(ctx, call) if _may_write(ctx, call) else None


def _may_write(ctx: Context, call: ToolCall) -> bool:
    tool = ctx.services.registry.get(call.name)
    risk = tool.risk if tool is not None else Risk.NONE
    return any(
        may_write_file(each, risk, call.arguments) for each in list_action_types(call.name, tool, call.arguments)
    )


async def _judge_size(ctx: Context, call: ToolCall) -> Judgement | None:
    excess = await _find_excess(ctx, await _find_paths(ctx, call))
    if excess is None:
        return None
    get_round_values(ctx, _ESCALATED)[call.id] = True
    return Judgement("escalate", TOO_LARGE, f"it cannot be undone: {excess}")


async def _take(ctx: Context, call: ToolCall) -> str | None:
    """Copy the files; a host stores the metadata with the journal entry of the call."""
    try:
        paths = await _find_paths(ctx, call)
        if not paths:
            return None
        excess = await _find_excess(ctx, paths)
        if excess is None:
            await _copy(ctx, call, paths)
        elif call.id not in (ctx.get(_ESCALATED) or {}) or call.id not in ctx.grants:
            return block_at_execution(ctx, call, "Snapshot", Judgement("block", TOO_LARGE, excess))
    except Exception as error:
        log.exception("the files of a call of %s could not be copied, and it is blocked", call.name)
        reason = f"the files that it changes could not be copied: {describe_error(error)}"
        return block_at_execution(ctx, call, "Snapshot", Judgement("block", FAILED, reason))
    return None


async def _find_paths(ctx: Context, call: ToolCall) -> Sequence[str]:
    root = _find_root(ctx)
    types = list_action_types(call.name, ctx.services.registry.get(call.name), call.arguments)
    found = [find_written_accesses(each, call.arguments, str(root)) for each in types]
    accesses = [access for written, _ in found for access in written]
    removes = any(each for _, each in found)
    if not accesses:
        return ()
    excluded = str(SnapshotArchive(ctx.services.folder).folder.parent)
    return await ctx.services.clock.run_in_thread(
        lambda: find_target_paths(accesses, str(root), removes=removes, excluded=excluded)
    )


async def _find_excess(ctx: Context, paths: Sequence[str]) -> str | None:
    if not paths:
        return None
    root, max_bytes = _find_root(ctx), ctx.settings.guards.snapshot.max_file_bytes
    return await ctx.services.clock.run_in_thread(lambda: find_excess(root, paths, max_bytes))


async def _copy(ctx: Context, call: ToolCall, paths: Sequence[str]) -> None:
    services, root = ctx.services, _find_root(ctx)
    snapshot_id, max_bytes = services.clock.new_id(), ctx.settings.guards.snapshot.max_file_bytes
    archive = SnapshotArchive(services.folder)
    files = await services.clock.run_in_thread(lambda: archive.take(root, snapshot_id, paths, max_bytes))
    if any(is_uncopied(file) for file in files):
        raise OSError("a file has grown meanwhile")
    event = SnapshotEvent(
        id=snapshot_id,
        owner=ctx.data_owner or LOCAL_USER,
        at=services.clock.now(),
        session_id=ctx.session_id,
        run_id=ctx.run_id,
        call_id=call.id,
        tool=call.name,
        files=files,
    )
    await services.store.snapshots.add([event])


def is_uncopied(file: SnapshotFile) -> bool:
    """Return whether a file that existed has no copy."""
    return file.existed and not file.copy


def _find_root(ctx: Context) -> Path:
    return resolve_files_root(ctx).absolute()
