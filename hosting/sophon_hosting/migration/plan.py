"""Migration plan: which data moves to which principal, and which stays because nothing tells whose it is.

An earlier version took the id of a hub user as it was, and kept the files of everybody in one folder. Nothing is moved
on a guess and nothing is merged: data moves only if the store says who made it, and never onto data that is there.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from sophon.lazy_dataclass import dataclass
from sophon.principals import LOCAL_USER, hub_user_principal
from sophon.stores.memories.contract import MemoryEntry

MoveKind: TypeAlias = Literal["session", "memory", "files"]

NOBODY = "nobody"
"""New owner of files that are set aside."""

HUB_CHANNEL = "hub"
"""Channel of the runs that came from a hub user."""


@dataclass(frozen=True, slots=True)
class Move:
    """One piece of data and its new owner: a session with its runs, a memory entry, or a file or folder."""

    kind: MoveKind
    name: str
    owner: str
    new_owner: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.owner or 'nobody'} -> {self.new_owner}"


@dataclass(frozen=True, slots=True)
class Kept:
    """One piece of data that stays where it is, and why."""

    kind: MoveKind
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: stays, {self.reason}"


@dataclass(slots=True)
class MigrationPlan:
    """Steps of a migration: the data that moves to another owner, and the data that stays."""

    moves: list[Move] = field(default_factory=list[Move])
    kept: list[Kept] = field(default_factory=list[Kept])

    def add(self, step: Move | Kept) -> None:
        """Add one step."""
        if isinstance(step, Move):
            self.moves.append(step)
        else:
            self.kept.append(step)


def find_renamed_users(user_ids: Collection[str]) -> dict[str, str]:
    """Return the hub users whose principal is not their id, as id to principal."""
    return {each: principal for each in user_ids if (principal := hub_user_principal(each)) != each}


def plan_session(session_id: str, owner: str, new_owner: str, channels: Collection[str]) -> Move | Kept:
    """Decide about a session whose owner's id is now somebody else's; `channels` are those of its runs."""
    if owner == LOCAL_USER:
        return Kept("session", session_id, "it may belong to the user of a time without Hub.Users")
    if not channels:
        return Kept("session", session_id, "it has no task that tells who wrote in it")
    if set(channels) == {HUB_CHANNEL}:
        return Move("session", session_id, owner, new_owner)
    if HUB_CHANNEL in channels:
        return Kept("session", session_id, f"both the hub user and {owner} on the channel wrote in it")
    return Kept("session", session_id, f"it belongs to {owner} on the channel")


def plan_memory(entry: MemoryEntry, new_owner: str, moved_sessions: Collection[str]) -> Move | Kept:
    """Decide about a memory entry in the scope of such an id, by its origin `channel/session` or `learned/session`."""
    channel, _, session = entry.origin.partition("/")
    if session in moved_sessions and channel in (HUB_CHANNEL, "learned"):
        return Move("memory", entry.id, entry.scope, new_owner)
    return Kept("memory", entry.id, f"it comes from {entry.origin or 'nobody knows where'}")


def plan_uploads(path: str, new_owner: str | None, referenced: bool) -> Move | Kept:
    """Decide about the files of one message, `uploads/CHANNEL/RUN`; `new_owner` is None if the run was deleted."""
    if new_owner is None:
        return Kept("files", path, "its task does not exist any more")
    if referenced:
        return Kept("files", path, "a message that is not sent yet refers to it; run this again later")
    return Move("files", path, "", new_owner)


def plan_early_principals(names: Collection[str], *, set_aside: bool) -> list[Move | Kept]:
    """Decide about what is below `principals` before the first migration.

    While all users shared one folder, any of them may have written a file there, which would now be somebody else's.
    """
    if set_aside:
        return [Move("files", name, "", NOBODY) for name in names]
    reason = (
        "with an earlier version any user may have put files there, and its owner now takes them for their own: "
        "look through it, or move it away with --set-aside"
    )
    return [Kept("files", name, reason) for name in names]


def plan_other_files(names: Collection[str], recipient: str | None) -> list[Move | Kept]:
    """Decide about the other entries of the files folder, which all users shared."""
    if recipient is None:
        reason = "nothing tells whose it is; the local user has it, --files-to PRINCIPAL gives all such files to one"
        return [Kept("files", name, reason) for name in names]
    return [Move("files", name, "", recipient) for name in names]


def format_plan(plan: MigrationPlan, *, applied: bool) -> list[str]:
    """Return the plan as lines for the terminal."""
    if not plan.moves and not plan.kept:
        return ["There is nothing to migrate."]
    verb = "Moved" if applied else "To be moved"
    lines = [f"{verb}: {len(plan.moves)}", *(f"  {each}" for each in plan.moves)]
    lines += [f"Left alone: {len(plan.kept)}", *(f"  {each}" for each in plan.kept)] if plan.kept else []
    if plan.moves and not applied:
        lines.append("Nothing was changed. `sophon migrate --apply` does it, while no host runs.")
    return lines


def plan_to_json(plan: MigrationPlan, *, applied: bool) -> Mapping[str, object]:
    """Return the plan as JSON."""
    return {
        "applied": applied,
        "moves": [{"kind": m.kind, "name": m.name, "owner": m.owner, "new_owner": m.new_owner} for m in plan.moves],
        "kept": [{"kind": each.kind, "name": each.name, "reason": each.reason} for each in plan.kept],
    }
