"""Integrity: the call that runs is the call that the guards and people judged."""

import hashlib
import os
from collections.abc import Iterable, Mapping

from sophon.approvals import compute_call_digest
from sophon.builtin_tools.files import resolve_files_root
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon.security.action_types import find_action_type
from sophon.security.file_access import find_file_accesses
from sophon_middlewares.guards.guard import Guard, Judgement, block_at_execution
from sophon_middlewares.tool_calls.escalations import get_round_values

PROPOSED: Key[dict[str, tuple[str, str]]] = Key(
    "integrity.proposed",
    dump=lambda calls: {call_id: list(digests) for call_id, digests in calls.items()},
    load=lambda data: {call_id: (call, files) for call_id, (call, files) in data.items()},
)
"""Call id -> digest of the call, and of the files that a command names, when it was first proposed."""


class Integrity(Guard):
    """Takes a digest of each call when it is proposed, and compares it immediately before the call runs.

    The digest is over run, call id, tool and canonical arguments. Arguments that a person edited are compared with the
    edited call. For a shell command it also covers size, inode and time of modification of the files that the command
    names: a script that was replaced between the approval and the run is not what was approved.
    """

    after = ("AgenticLoop", "ParallelExecution")
    before = ("InformationFlow", "Protection", "Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool call": "blocks a call that was changed after it was judged, or whose script was replaced"}

    def judge(self, ctx: Context, call: ToolCall) -> None:
        """Note what is proposed."""
        proposed = get_round_values(ctx, PROPOSED)
        if call.id not in proposed:  # a resumed turn compares with what was proposed before the suspension
            proposed[call.id] = (compute_call_digest(ctx.run_id, call), _digest_named_files(ctx, call))

    def check(self, ctx: Context, call: ToolCall) -> str | None:
        """Compare the call with what was proposed."""
        proposed = (ctx.get(PROPOSED) or {}).get(call.id)
        if proposed is None:
            return _block(ctx, call, "not_proposed", "the call was never proposed")
        grant = ctx.grants.get(call.id)
        is_edited = grant is not None and grant.edited
        expected = grant.digest if grant is not None and is_edited else proposed[0]
        if compute_call_digest(ctx.run_id, call) != expected:
            return _block(ctx, call, "changed_call", "the call was changed after it was judged")
        # Files of an edited command are named by the person who decided, at the time of the decision.
        if not is_edited and _digest_named_files(ctx, call) != proposed[1]:
            return _block(ctx, call, "changed_file", "a file that the command names was changed after it was judged")
        return None


def _block(ctx: Context, call: ToolCall, rule: str, reason: str) -> str:
    return block_at_execution(ctx, call, "Integrity", Judgement("block", rule, reason))


def _digest_named_files(ctx: Context, call: ToolCall) -> str:
    """Return a digest of the files that a shell command names; empty for other calls."""
    if find_action_type(call.name) != "execute_command":
        return ""
    return digest_files(find_named_files(call.arguments, str(resolve_files_root(ctx).absolute())))


def find_named_files(arguments: Mapping[str, object], folder: str) -> list[str]:
    """Return the paths that a command reads and does not write itself."""
    accesses = find_file_accesses("execute_command", arguments, folder)
    written = {access.path for access in accesses if access.operation != "read"}
    return sorted({access.path for access in accesses} - written)


def digest_files(paths: Iterable[str]) -> str:
    """Return a digest of the state of the files: inode, size and times of modification and change; empty for none."""
    states: list[str] = []
    for path in paths:
        try:
            status = os.stat(path)  # noqa: PTH116 - the path is a text
        except (OSError, ValueError):
            states.append(f"{path}\0-")
            continue
        state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        states.append(f"{path}\0{state}")
    return hashlib.sha256("\n".join(states).encode("utf-8", "surrogatepass")).hexdigest() if states else ""
