"""Permission levels: three, from the least trusted to the most, and the pure rule that resolves who has which.

The levels and their layers are those of clawft (permissions). A level comes from settings and from how a
person was authenticated, and never from what a client sends.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, Literal, TypeAlias, get_args


class Level(IntEnum):
    """Permission level of a principal; a higher one may do more."""

    ZERO_TRUST = 0
    USER = 1
    ADMIN = 2

    @property
    def label(self) -> "LevelLabel":
        """Name of the level in settings and messages."""
        return LEVEL_LABELS[self]

    @property
    def role(self) -> str:
        """Principal by which the rules of an access control list name everybody of this level."""
        return f"role:{self.label}"


LevelLabel: TypeAlias = Literal["ZeroTrust", "User", "Admin"]

LEVEL_LABELS: Final[tuple[LevelLabel, ...]] = get_args(LevelLabel)

LEVELS_BY_LABEL: Final[Mapping[str, Level]] = {label: Level(number) for number, label in enumerate(LEVEL_LABELS)}

Feature: TypeAlias = Literal["Chat", "ChooseModel", "Approvals", "Export", "Memory", "OpenAiApi", "FullHistory"]
"""What a level may use of the HTTP and Socket.IO interfaces, and of the commands in chats."""

FEATURES: Final[tuple[Feature, ...]] = get_args(Feature)

FULL_HISTORY: Final = "FullHistory"
"""Feature of those who see a whole history; who lacks it gets it redacted (`sophon.turn.history_redaction`)."""


def resolve_level(
    *,
    is_operator: bool = False,
    own: Level | None = None,
    chat: Level | None = None,
    channel: Level | None = None,
    everyone: Level | None = None,
    ceiling: Level = Level.USER,
) -> Level:
    """Return the level of a principal in a chat on a channel; None is a layer that says nothing.

    Layers, the first one that says something: the principal's own entry, Admin for an operator, the chat, the channel,
    everyone, User. What does not name the principal grants at most `ceiling`. A chat also limits those whose level is
    their own, because all its members read the answer, and it never raises them.
    """
    personal = own if own is not None else Level.ADMIN if is_operator else None
    if personal is not None:
        return personal if chat is None else min(personal, chat)
    general = next((each for each in (chat, channel, everyone) if each is not None), Level.USER)
    return min(general, ceiling)
