"""Lines about a group of processes, for people: the role of this one, the queue, and the other live processes."""

from collections.abc import Sequence

from sophon.errors import StoreError
from sophon_hosting.leadership.host_registry import HostDescription, ProcessRole
from sophon_hosting.leadership.membership import GroupMembership

ROLES: dict[ProcessRole, str] = {"serve": "hub and worker", "hub": "hub without a worker", "worker": "worker"}


async def describe_group(membership: GroupMembership) -> list[str]:
    """Return the lines of a process at its start; none for one that has its store alone."""
    if not membership.is_shared:
        return []
    own = membership.describe()
    lines = [f"{ROLES[own.role]} of the queue {own.queue}, process {own.id[:8]}"]
    try:
        others = [each for each in await membership.list_hosts() if each.id != own.id]
    except StoreError as error:
        return [*lines, f"the other processes are not known: {error}"]
    return lines + (list_hosts(others) or ["no other process is running"])


def list_hosts(hosts: Sequence[HostDescription]) -> list[str]:
    """Return a line per live process."""
    return [
        f"{ROLES.get(each.role, each.role)} {each.id[:8]} on {each.machine}"
        f"{' at ' + each.address if each.address else ''}, process {each.pid}, {_count_turns(each.turns)}"
        for each in hosts
    ]


def _count_turns(turns: int) -> str:
    return "1 turn" if turns == 1 else f"{turns} turns"
