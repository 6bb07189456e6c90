"""Audience of a run: who reads the answer, whose long-term memory and files it may use, what holds in its chat."""

from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.principals import channel_chat_principal
from sophon.turn.chat_overrides import NO_OVERRIDES, ChatOverrides
from sophon_hosting.store.runs.contract import Run


@dataclass(frozen=True, slots=True)
class RunAudience:
    """Audience of a run: `data_owner`, whose memory and files the turn uses, and whether a `group` reads the answer."""

    data_owner: str
    group: bool = False


OVERRIDES = "overrides"
"""Key, in `Run.origin`, of the overrides of its chat, as they were when the message was accepted."""


def overrides_to_origin(overrides: ChatOverrides) -> dict[str, Any]:
    """Return the part of a run's origin that states the overrides of its chat; empty without any."""
    stored = overrides.to_json()
    return {OVERRIDES: stored} if stored else {}


def overrides_of_run(run: Run) -> ChatOverrides:
    """Return the overrides of the chat of a run; `NO_OVERRIDES` itself without any."""
    stored = run.origin.get(OVERRIDES)
    return ChatOverrides.from_json(stored) if stored else NO_OVERRIDES


def audience_of_run(run: Run) -> RunAudience:
    """Return the audience of a run: a message from a group is answered from the group's data only."""
    if run.origin.get("kind") != "group":
        return RunAudience(run.owner)
    # A run that no message of the group began, as of a webhook: the group is the chat without its thread.
    chat = str(run.origin.get("chat", "")).partition("/")[0]
    return RunAudience(str(run.origin.get("data_owner") or channel_chat_principal(run.channel, chat)), group=True)
