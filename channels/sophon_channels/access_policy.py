"""Access policy: who may write to the host. Denies by default; groups are handled separately from direct chats."""

from collections.abc import Collection
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import ChatLocation, Person

DirectChatPolicy: TypeAlias = Literal["Pairing", "AllowList", "Open", "Disabled"]
"""As the setting `DirectChatPolicy`."""
GroupChatPolicy: TypeAlias = Literal["MentionOnly", "All", "AllowList", "Disabled"]
"""As the setting `GroupChatPolicy`."""
AccessDecision: TypeAlias = Literal["let_in", "pair", "ignore"]
"""let_in: accept the message; pair: offer a pairing code; ignore: drop it."""


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """A channel's settings about who may write and who may decide approvals; ids are the platform's, as strings."""

    allow_from: frozenset[str] = frozenset()
    approvers: frozenset[str] = frozenset()
    direct_policy: DirectChatPolicy = "Pairing"
    group_policy: GroupChatPolicy = "Disabled"
    allowed_groups: frozenset[str] = frozenset()

    def is_listed(self, person: Person) -> bool:
        """Return whether the settings list the person."""
        return not person.known_ids.isdisjoint(self.allow_from) or self.is_approver(person)

    def is_approver(self, person: Person) -> bool:
        """Return whether the person is in the setting Approvers."""
        return not person.known_ids.isdisjoint(self.approvers)

    def decide_access(
        self, person: Person, location: ChatLocation, *, is_mention: bool, is_paired: bool, chat_ids: Collection[str]
    ) -> AccessDecision:
        """Return the decision about a message. Pure.

        `is_paired`: the person's pairing code was approved. `chat_ids` are the present and former ids of the chat. In a
        group only persons listed in the settings are accepted, but everyone in a group listed in AllowedGroups; pairing
        grants no rights in groups.
        """
        if location.kind == "direct":
            return self._decide_direct(person, is_paired)
        return (
            "let_in"
            if self._is_allowed_in_group(person, is_mention, not self.allowed_groups.isdisjoint(chat_ids))
            else "ignore"
        )

    def _decide_direct(self, person: Person, paired: bool) -> AccessDecision:
        if self.direct_policy == "Disabled":
            return "ignore"
        if self.direct_policy == "Open" or self.is_listed(person):
            return "let_in"
        if self.direct_policy == "AllowList":
            return "ignore"
        return "let_in" if paired else "pair"

    def _is_allowed_in_group(self, person: Person, mentioned: bool, allowed: bool) -> bool:
        if self.group_policy == "Disabled" or (self.group_policy == "AllowList" and not allowed):
            return False
        if self.group_policy == "MentionOnly" and not mentioned:
            return False
        return allowed or self.direct_policy == "Open" or self.is_listed(person)
