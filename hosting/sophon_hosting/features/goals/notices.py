"""Notices about goals: one line in the chat in which a goal was made, when a rule pauses it; a few per goal.

The end of a goal is reported by a message of its own, which a model writes.
"""

from collections import OrderedDict
from typing import Final

from sophon_channels.contract import Channel, OutboundMessage
from sophon_hosting.channels.approval_text import to_visible_line
from sophon_hosting.channels.outbound.chat_notices import ChatNotice
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.channels.outbound.quiet_entries import UNPROMPTED_KIND
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.goals.events import GoalChanged
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.contract import HostStore

MAX_NOTICES_PER_GOAL = 5
"""A goal that pauses again and again does not flood the chat; `sophon goals` and the API show each change."""

MAX_COUNTED_GOALS = 1000
MAX_TITLE_CHARACTERS, MAX_REASON_CHARACTERS = 80, 200


def is_goal_pause(event: WireEvent) -> bool:
    """Return whether a goal has been paused by a rule, so that a person should look at it."""
    return event.name == GoalChanged.wire_name and event.data.get("state") == "paused" and not event.data.get("step")


class GoalNotices:
    """Sends the notices of one channel. A pause has one notice, also if its event is repeated."""

    def __init__(self, channel: Channel, store: HostStore, writer: OutboundWriter) -> None:
        self._channel, self._goals, self._writer = channel, stored_goals(store), writer
        self._sent: OrderedDict[str, frozenset[int]] = OrderedDict()
        """Versions of the goals at the pauses that were told, by goal."""

    async def send(self, event: WireEvent) -> None:
        """Send the notice of a pause to the chat of the goal, if that is on this channel."""
        goal_id = str(event.data["goal_id"])
        sent = self._sent.get(goal_id, frozenset())
        goal = await self._goals.find(goal_id)
        if goal is None or goal.pause_kind in ("", "person", "back_off"):
            return
        if goal.version in sent or len(sent) >= MAX_NOTICES_PER_GOAL:
            return
        chat = str(goal.origin.get("chat") or "")
        if goal.channel != self._channel.name or not chat:
            return
        self._sent[goal_id] = sent | {goal.version}
        self._sent.move_to_end(goal_id)
        while len(self._sent) > MAX_COUNTED_GOALS:
            self._sent.popitem(last=False)
        title = to_visible_line(goal.title, MAX_TITLE_CHARACTERS)
        reason = to_visible_line(goal.reason, MAX_REASON_CHARACTERS)
        recipient = goal.owner if goal.origin.get("kind") == "direct" else ""
        text = f"⏸ The goal {title!r} is paused: {reason}. It fails if nobody resumes it."
        name, message = f"goal:{goal_id}:{goal.version}", OutboundMessage(text, is_markdown=False)
        await self._writer.write(chat, name, message, UNPROMPTED_KIND, recipient=recipient)


GOAL_NOTICE: Final = ChatNotice(is_goal_pause, GoalNotices)
