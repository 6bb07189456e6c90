"""Protection: keeps tools from the files that define and control the agent."""

import os
import posixpath
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Final

from sophon.context import Context
from sophon.extensions import Key
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
from sophon.settings.host_files import find_protected_roots
from sophon.tools.declared_action_types import list_action_types
from sophon.tools.truncation import truncate
from sophon_middlewares.guards.guard import Guard, Judgement
from sophon_middlewares.guards.guard_description import RuleTable
from sophon_middlewares.tool_calls.escalations import get_round_values

_DEMANDED: Key[dict[str, int]] = Key("shield.demanded_tiers", dump=dict, load=dict)
"""Call id -> tier, of the last round."""


class Protection(Guard):
    """Blocks or escalates calls whose arguments name a protected file (`sophon.security.protection`).

    Protected are named files and folders directly in the files folder and in the host's own folder. The files of a
    shell command are found by parsing it, those of an archive or patch by reading its list of names. A level that asks
    for a tier of Shield escalates to a person, and so does a command whose files are not known. With `demands_tiers`
    it is that tier of the Shield behind it that must allow the call, or a higher one.
    """

    after = ("AgenticLoop", "ParallelExecution")
    before = ("Shield", "Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool call": "keeps the agent's identity files and the host's own files from being changed"}

    def __init__(self, *, demands_tiers: bool = False) -> None:
        self._demands_tiers = demands_tiers
        if demands_tiers:
            self.requires = ("Shield", "ToolExecution")  # without Shield nobody would judge the call

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | None:
        """Judge the files that the call names."""
        action_type = find_action_type(call.name)
        if not may_access_files(action_type, call.arguments):
            return None
        types = list_action_types(call.name, ctx.services.registry.get(call.name), call.arguments)
        return _judge_and_demand(ctx, call, types) if self._demands_tiers else _judge_files(ctx, call, types)

    def describe(self, services: Services, /) -> Sequence[RuleTable]:
        """Return the protected files, and what each operation on them leads to."""
        texts = {**_LEVEL_TEXTS, **_DEMAND_TEXTS} if self._demands_tiers else _LEVEL_TEXTS
        rows = [
            (name, *(texts[level_within_root(name, operation)] for operation in _OPERATIONS))
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

_DEMAND_TEXTS: Mapping[ProtectionLevel, str] = {
    "tier1": "the heuristics must allow it",
    "tier2": "a model must allow it, or a person",
}

_TIERS: Final = {"protected_tier1": 1, "protected_tier2": 2}
"""Rule of an escalation -> the tier of Shield that may allow the call."""


async def _judge_and_demand(ctx: Context, call: ToolCall, action_types: Sequence[str]) -> Judgement | None:
    judgement = await _judge_files(ctx, call, action_types)
    tier = _TIERS.get(judgement.rule) if judgement is not None else None
    if judgement is None or tier is None:
        return judgement
    demand_tier(ctx, call, tier)
    return Judgement("allow", judgement.rule, f"{judgement.reason}; tier {tier} of Shield must allow it")


async def _judge_files(ctx: Context, call: ToolCall, action_types: Sequence[str]) -> Judgement | None:
    roots, action_type = _find_roots(ctx), action_types[0]
    accesses = [access for each in action_types for access in find_file_accesses(each, call.arguments, roots[0])]
    accesses = add_files_in_folders(accesses)
    if may_name_unlisted_files(action_type, call.arguments, roots[0]):
        read = partial(find_unlisted_accesses, action_type, call.arguments, roots[0])
        accesses = [*accesses, *await ctx.services.clock.run_in_thread(read)]
        check_number(len(accesses))
    return judge_accesses(accesses, roots) if accesses else None


def judge_accesses(accesses: list[FileAccess], roots: Sequence[str]) -> Judgement | None:
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
    if access.operation == "unclear":
        reason = f"it names {name}, a protected file, and what it does with it is not known"
        return Judgement("escalate", "protected_unknown", reason)
    return Judgement("escalate", f"protected_{level}", f"it would {access.operation} {name}, a protected file")


def _find_roots(ctx: Context) -> Sequence[str]:
    """Return the folders in which names are protected, the files folder first."""
    return find_protected_roots(ctx.services.settings, ctx.services.folder, ctx.data_owner, os.environ)


def demand_tier(ctx: Context, call: ToolCall, tier: int) -> None:
    """Have Shield judge the call in this tier at least; a turn that is resumed demands it again."""
    demanded = get_round_values(ctx, _DEMANDED)
    demanded[call.id] = max(tier, demanded.get(call.id, 0))


def find_demanded_tier(ctx: Context, call: ToolCall) -> int:
    """Return the tier that was demanded for the call; 0 without one."""
    return (ctx.get(_DEMANDED) or {}).get(call.id, 0)
