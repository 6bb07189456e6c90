"""Branches of a conversation: where the sessions of a family part, computed from what each was copied of.

A session is an append-only log, so a branch is a session of its own, which begins with a copy of the records of another
one up to a seq. The copies keep their seqs. The sessions that were branched from one another are a family: one
conversation for people. See docs/decisions/0108-a-branch-is-a-copied-session.md.
"""

import math
from collections.abc import Mapping, Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.sessions.contract import SessionSummary


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """Seq of a session at which branches of its family go different ways.

    `options` holds one session per way, in the order in which the ways began; `index` is the way of the session itself.
    Of several sessions that go the same way it is the one that was changed last.
    """

    seq: int
    options: tuple[str, ...]
    index: int


def list_branch_points(session_id: str, family: Sequence[SessionSummary]) -> list[BranchPoint]:
    """Return the branch points of a session by seq; `family` has all its branches in order of creation."""
    members = {each.id: each for each in family}
    ancestors = {each.id: _shared_with_ancestors(each, members) for each in family}
    shared = {each.id: _count_shared(ancestors[session_id], ancestors[each.id]) for each in family}
    points: list[BranchPoint] = []
    for count in sorted({shared[each.id] for each in family if each.id != session_id}):
        ways: list[list[SessionSummary]] = []
        for each in family:
            if shared[each.id] < count:
                continue  # it went another way before
            # Sessions that share one more record than this went the same way here.
            way = next((way for way in ways if _count_shared(ancestors[way[0].id], ancestors[each.id]) > count), None)
            if way is None:
                ways.append([each])
            else:
                way.append(each)
        index = next(at for at, way in enumerate(ways) if any(each.id == session_id for each in way))
        options = tuple(max(way, key=lambda each: each.updated_at).id for way in ways)
        points.append(BranchPoint(int(count) + 1, (*options[:index], session_id, *options[index + 1 :]), index))
    return points


def _shared_with_ancestors(session: SessionSummary, members: Mapping[str, SessionSummary]) -> dict[str, float]:
    """Return with which sessions the session shares its first records because they were copied, and how many of them.

    A session shares all of its own records, now and later, with itself.
    """
    count = math.inf
    shared = {session.id: count}
    while session.forked_from is not None and session.forked_from in members:
        count = min(count, session.forked_at or 0)
        session = members[session.forked_from]
        shared[session.id] = count
    return shared


def _count_shared(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return how many records two sessions have in common, given what each shares with its ancestors."""
    return max((min(count, other[ancestor]) for ancestor, count in one.items() if ancestor in other), default=0)
