"""Who may write: fail closed, groups apart from direct chats."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sophon_channels.contract import Person, Place

DirectPolicy: TypeAlias = Literal["Pairing", "AllowList", "Open", "Disabled"]
GroupPolicy: TypeAlias = Literal["MentionOnly", "All", "AllowList", "Disabled"]
Verdict: TypeAlias = Literal["let_in", "pair", "ignore"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a channel that say who may write and who may decide; ids are the platform's, as text."""

    allow_from: frozenset[str] = frozenset()
    approvers: frozenset[str] = frozenset()
    direct: DirectPolicy = "Pairing"
    group: GroupPolicy = "Disabled"
    allowed_groups: frozenset[str] = frozenset()

    def knows(self, person: Person) -> bool:
        """Whether the settings name somebody."""
        return person.id in self.allow_from or person.id in self.approvers

    def verdict(
        self, person: Person, place: Place, *, mentioned: bool, paired: bool, chats: Collection[str]
    ) -> Verdict:
        """What becomes of a message.

        `paired`: the person has shown a code. `chats` are the ids that the chat has or had. In a group somebody counts
        who is named in the settings, everybody does in one of AllowedGroups, and pairing gives no rights.
        """
        if place.kind == "direct":
            return self._direct(person, paired)
        return "let_in" if self._in_group(person, mentioned, not self.allowed_groups.isdisjoint(chats)) else "ignore"

    def _direct(self, person: Person, paired: bool) -> Verdict:
        if self.direct == "Disabled":
            return "ignore"
        if self.direct == "Open" or self.knows(person):
            return "let_in"
        if self.direct == "AllowList":
            return "ignore"
        return "let_in" if paired else "pair"

    def _in_group(self, person: Person, mentioned: bool, allowed: bool) -> bool:
        if self.group == "Disabled" or (self.group == "AllowList" and not allowed):
            return False
        if self.group == "MentionOnly" and not mentioned:
            return False
        return allowed or self.direct == "Open" or self.knows(person)
