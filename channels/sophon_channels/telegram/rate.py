"""One gate for all that is sent: Telegram's limits are kept before Telegram has to say so.

About 1 message a second in a chat (short bursts pass), 20 a minute in a group, 30 a second overall; edits and typing
count (core.telegram.org/bots/faq, reference/channels.md). The gate never waits: it answers how long one would have to.
Finals may use all of a limit, progress half of it.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import timedelta

from sophon.clock import Clock

GO = timedelta(0)

CHAT = (3, 3.0)
GROUP = (20, 60.0)
BOT = (30, 1.0)
"""How many, in how many seconds."""

PROGRESS_EVERY_SECONDS = 3.0
PROGRESS_SHARE = 0.5
QUIET_SECONDS = 600.0
"""How long a chat that was refused sees no progress: about as long as a run goes on."""

BREAKER_CHATS = 3
BREAKER_SECONDS = 30.0
"""So many chats refused within so many seconds: the bot as a whole is meant."""

MOST_CHATS = 10_000
"""Remembered at once; the one that was longest silent is forgotten."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How long until the gate opens; `everywhere` if no other chat is served before that either."""

    time: timedelta = GO
    everywhere: bool = False


class Window:
    """At most `most` in any `seconds`, exactly."""

    __slots__ = ("_most", "_seconds", "_times")

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._times: deque[float] = deque(maxlen=most)

    def wait(self, now: float, share: float = 1.0) -> float:
        """Seconds until one more fits into that share of the window."""
        most = max(int(self._most * share), 1)
        if len(self._times) < most:
            return 0.0
        return max(self._times[-most] + self._seconds - now, 0.0)

    def count(self, now: float) -> None:
        """One was sent."""
        self._times.append(now)


@dataclass(slots=True)
class _Chat:
    windows: list[Window]
    closed_until: float = 0.0
    quiet_until: float = 0.0
    last_progress: float = field(default=float("-inf"))


class Gate:
    """What of the limits is left, of one bot and each of its chats; a chat is named by its id, without a thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bot = Window(*BOT)
        self._bot_closed_until = 0.0
        self._chats: OrderedDict[str, _Chat] = OrderedDict()
        self._refusals: deque[tuple[float, str]] = deque(maxlen=BREAKER_CHATS * 4)
        self._refused = 0
        self._held = 0

    def final(self, chat: str) -> Wait:
        """Whether a message may go now: then it counts as sent."""
        now, state = self._clock.monotonic(), self._chat(chat)
        everywhere = max(self._bot_closed_until - now, self._bot.wait(now))
        here = max(state.closed_until - now, *(window.wait(now) for window in state.windows))
        if everywhere > 0 or here > 0:
            self._held += 1
            return Wait(timedelta(seconds=max(everywhere, here)), everywhere=everywhere >= here)
        self._count(state, now)
        return Wait()

    def progress(self, chat: str) -> bool:
        """Whether a progress edit may go now: then it counts as sent. What comes too early is to be dropped."""
        now, state = self._clock.monotonic(), self._chat(chat)
        if now < state.last_progress + PROGRESS_EVERY_SECONDS or not self._has_spare(state, now):
            return False
        state.last_progress = now
        self._count(state, now)
        return True

    def typing(self, chat: str) -> bool:
        """Whether the typing sign may go now; as for progress, without its own pace."""
        now, state = self._clock.monotonic(), self._chat(chat)
        if not self._has_spare(state, now):
            return False
        self._count(state, now)
        return True

    def refused(self, chat: str, retry_after: timedelta) -> Wait:
        """Telegram itself has refused, with 429. Several chats at once close the gate for all."""
        now, state = self._clock.monotonic(), self._chat(chat)
        seconds = retry_after.total_seconds()
        state.closed_until = max(state.closed_until, now + seconds)
        state.quiet_until = max(state.quiet_until, now + seconds + QUIET_SECONDS)
        self._refused += 1
        self._refusals.append((now, chat))
        recent = {name for at, name in self._refusals if at > now - BREAKER_SECONDS}
        if len(recent) >= BREAKER_CHATS:
            self._bot_closed_until = max(self._bot_closed_until, now + seconds)
        return Wait(retry_after, everywhere=len(recent) >= BREAKER_CHATS)

    def statistics(self) -> dict[str, int]:
        """Chats remembered, refusals of Telegram, messages that the gate held back."""
        return {"chats": len(self._chats), "refused_total": self._refused, "held_total": self._held}

    def _chat(self, chat: str) -> _Chat:
        state = self._chats.get(chat)
        if state is None:
            limits = (CHAT, GROUP) if chat.startswith("-") else (CHAT,)  # only groups have negative ids
            state = self._chats[chat] = _Chat([Window(*limit) for limit in limits])
            while len(self._chats) > MOST_CHATS:
                self._chats.popitem(last=False)
        self._chats.move_to_end(chat)
        return state

    def _has_spare(self, state: _Chat, now: float) -> bool:
        closed = max(self._bot_closed_until, state.closed_until, state.quiet_until)
        windows = (self._bot, *state.windows)
        return now >= closed and not any(window.wait(now, PROGRESS_SHARE) for window in windows)

    def _count(self, state: _Chat, now: float) -> None:
        for window in (self._bot, *state.windows):
            window.count(now)
