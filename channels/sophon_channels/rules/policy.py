"""Access policy: who may write to the host. Denies by default; groups are handled separately from direct chats."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sophon_channels.contract import Person, Place

DirectPolicy: TypeAlias = Literal["Pairing", "AllowList", "Open", "Disabled"]
"""As the setting `DirectPolicy`."""
GroupPolicy: TypeAlias = Literal["MentionOnly", "All", "AllowList", "Disabled"]
"""As the setting `GroupPolicy`."""
Verdict: TypeAlias = Literal["let_in", "pair", "ignore"]
"""let_in: accept the message; pair: offer a pairing code; ignore: drop it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A channel's settings about who may write and who may decide approvals; ids are the platform's, as strings."""

    allow_from: frozenset[str] = frozenset()
    approvers: frozenset[str] = frozenset()
    direct: DirectPolicy = "Pairing"
    group: GroupPolicy = "Disabled"
    allowed_groups: frozenset[str] = frozenset()

    def knows(self, person: Person) -> bool:
        """Return whether the settings list the person."""
        return person.id in self.allow_from or person.id in self.approvers

    def verdict(
        self, person: Person, place: Place, *, mentioned: bool, paired: bool, chats: Collection[str]
    ) -> Verdict:
        """Return the decision about a message. Pure.

        `paired`: the person's pairing code was approved. `chats` are the present and former ids of the chat. In a group
        only persons listed in the settings are accepted, but everyone in a group listed in AllowedGroups; pairing
        grants no rights in groups.
        """
        if place.kind == "direct":
            return self._decide_direct(person, paired)
        return (
            "let_in"
            if self._is_allowed_in_group(person, mentioned, not self.allowed_groups.isdisjoint(chats))
            else "ignore"
        )

    def _decide_direct(self, person: Person, paired: bool) -> Verdict:
        if self.direct == "Disabled":
            return "ignore"
        if self.direct == "Open" or self.knows(person):
            return "let_in"
        if self.direct == "AllowList":
            return "ignore"
        return "let_in" if paired else "pair"

    def _is_allowed_in_group(self, person: Person, mentioned: bool, allowed: bool) -> bool:
        if self.group == "Disabled" or (self.group == "AllowList" and not allowed):
            return False
        if self.group == "MentionOnly" and not mentioned:
            return False
        return allowed or self.direct == "Open" or self.knows(person)
