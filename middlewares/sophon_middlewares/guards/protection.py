"""Protection: keeps tools from the files that define and control the agent."""

import posixpath
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Final

from sophon.builtin_tools.files import resolve_files_root
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.messages import ToolCall
from sophon.security.action_types import find_action_type
from sophon.security.file_access import (
    FileAccess,
    add_files_in_folders,
    check_number,
    find_file_accesses,
    find_unlisted_accesses,
    may_access_files,
    may_name_unlisted_files,
)
from sophon.security.protection import PROTECTED_NAMES, ProtectionLevel, level_within_root, protection_level
from sophon.services import Services
from sophon.tools.declared_action_types import list_action_types
from sophon.tools.truncation import truncate
from sophon_middlewares.guards.description import RuleTable
from sophon_middlewares.guards.judgement import Judgement, check_edited_calls, judge_round


class Protection:
    """Blocks or escalates calls whose arguments name a protected file (`sophon.security.protection`).

    Protected are named files and folders directly in the files folder and in the host's own folder. The files of a
    shell command are found by parsing it, those of an archive or patch by reading its list of names. A level that asks
    for a tier of Shield escalates to a person, and so does a command whose files are not known.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop", "ParallelExecution")
    before = ("Shield", "Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    settling_only = True
    acts = {"tool call": "keeps the agent's identity files and the host's own files from being changed"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        await judge_round(ctx, next, "Protection", _judge, _CHECK)

    def describe(self, services: Services, /) -> Sequence[RuleTable]:
        """Return the protected files, and what each operation on them leads to."""
        rows = [
            (name, *(_LEVEL_TEXTS[level_within_root(name, operation)] for operation in _OPERATIONS))
            for name in PROTECTED_NAMES
        ]
        return [RuleTable("Protected files", ("file", *_OPERATIONS), rows)]


_OPERATIONS = ("read", "write", "delete")

_LEVEL_TEXTS: Mapping[ProtectionLevel, str] = {
    "none": "allowed",
    "tier1": "a person is asked",
    "tier2": "a person is asked",
    "read_only": "blocked",
    "blocked": "blocked",
}


def _judge(ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | None:
    action_type = find_action_type(call.name)
    if not may_access_files(action_type, call.arguments):
        return None
    return _judge_files(ctx, call, list_action_types(call.name, ctx.services.registry.get(call.name), call.arguments))


_CHECK: Final = check_edited_calls("Protection", _judge)


async def _judge_files(ctx: Context, call: ToolCall, action_types: Sequence[str]) -> Judgement | None:
    roots, action_type = _find_roots(ctx), action_types[0]
    accesses = [access for each in action_types for access in find_file_accesses(each, call.arguments, roots[0])]
    accesses = add_files_in_folders(accesses)
    if may_name_unlisted_files(action_type, call.arguments, roots[0]):
        read = partial(find_unlisted_accesses, action_type, call.arguments, roots[0])
        accesses = [*accesses, *await ctx.services.clock.run_in_thread(read)]
        check_number(len(accesses))
    return judge_accesses(accesses, roots) if accesses else None


def judge_accesses(accesses: list[FileAccess], roots: list[str]) -> Judgement | None:
    """Return the strictest judgement of the accesses in any of the roots, or None if all are allowed."""
    levels = [(protection_level(access.path, access.operation, root), access) for access in accesses for root in roots]
    for level in _STRICTEST_FIRST:
        access = next((access for found, access in levels if found == level), None)
        if access is not None:
            return judge_level(level, access)
    return None


_MAX_NAME_CHARACTERS = 100

_NAMES = frozenset(name.casefold() for name in PROTECTED_NAMES)

_STRICTEST_FIRST: tuple[ProtectionLevel, ...] = ("blocked", "read_only", "tier2", "tier1")


def judge_level(level: ProtectionLevel, access: FileAccess) -> Judgement | None:
    """Return the judgement of one access by its level."""
    name = truncate(posixpath.basename(posixpath.normpath(access.path)) or access.path, _MAX_NAME_CHARACTERS)
    if level == "none":
        return None
    if level in ("blocked", "read_only"):
        what = "is not for tools" if level == "blocked" else "can only be read"
        if access.operation == "delete" and name.casefold() not in _NAMES:
            what = "cannot be deleted: it holds protected files"
        return Judgement("block", f"protected_{level}", f"{name} {what}")
    if access.operation == "fill":
        reason = f"it could write protected files in {name}: which files it writes is not known"
        return Judgement("escalate", "protected_unknown", reason)
    return Judgement("escalate", f"protected_{level}", f"it would {access.operation} {name}, a protected file")


def _find_roots(ctx: Context) -> list[str]:
    """Return the files folder, whose owner's identity files may be in it, and the folder of the host."""
    return list(dict.fromkeys((str(resolve_files_root(ctx).absolute()), str(ctx.services.folder.absolute()))))
