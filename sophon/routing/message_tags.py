"""Typed key of the tags that a message came with."""

from typing import Final

from sophon.extensions import Key

MESSAGE_TAGS: Final[Key[list[str]]] = Key("routing.message_tags", dump=list, load=list)
"""Tags that the sender gave the message, for routing; not set without any. With `AGENT_BOOSTER_AVAILABLE` boosters are
asked whatever the strategy: clawft, IntelligentRouter."""
