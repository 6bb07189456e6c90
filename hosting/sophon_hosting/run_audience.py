"""Audience of a run: who reads the answer, and whose long-term memory and files the turn may use."""

from sophon.lazy_dataclass import dataclass
from sophon.principals import channel_chat_principal
from sophon.stores.runs.contract import Run


@dataclass(frozen=True, slots=True)
class RunAudience:
    """Audience of a run: `data_owner`, whose memory and files the turn uses, and whether a `group` reads the answer."""

    data_owner: str
    group: bool = False


def audience_of_run(run: Run) -> RunAudience:
    """Return the audience of a run: a message from a group is answered from the group's data only."""
    if run.origin.get("kind") != "group":
        return RunAudience(run.owner)
    # A run of an earlier version names no data owner: the group is the chat without its thread.
    chat = str(run.origin.get("chat", "")).partition("/")[0]
    return RunAudience(str(run.origin.get("data_owner") or channel_chat_principal(run.channel, chat)), group=True)
