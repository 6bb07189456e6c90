"""Rate limiter for everything that is sent to Telegram, so that Telegram does not have to refuse.

About 1 message per second in a chat (short bursts pass), 20 per minute in a group, 30 per second overall; edits and
typing indicators count (core.telegram.org/bots/faq, reference/channels.md). The limiter never waits: it returns the
necessary delay. Final messages may use all of a limit, previews half of it.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import timedelta

from sophon.clock import Clock

GO = timedelta(0)
"""No delay: the message may be sent now."""

CHAT = (3, 3.0)
GROUP = (20, 60.0)
BOT = (30, 1.0)
"""Limits as (messages, seconds): of a chat, of a group, of the whole bot."""

PROGRESS_EVERY_SECONDS = 3.0
"""Minimum interval between two preview edits in a chat."""
PROGRESS_SHARE = 0.5
"""Share of each limit that previews and typing indicators may use."""
QUIET_SECONDS = 600.0
"""How long a chat gets no previews after a 429: about the duration of a run."""

BREAKER_CHATS = 3
BREAKER_SECONDS = 30.0
"""If this many chats are refused within this time, the whole bot is considered limited."""

MOST_CHATS = 10_000
"""Number of chats remembered; the least recently used one is evicted."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Delay until the next message may be sent; `everywhere` if it applies to all chats."""

    time: timedelta = GO
    everywhere: bool = False


class Window:
    """Sliding-window limit: at most `most` events in any `seconds`, exactly."""

    __slots__ = ("_limit", "_seconds", "_times")

    def __init__(self, most: int, seconds: float) -> None:
        self._limit, self._seconds = most, seconds
        self._times: deque[float] = deque(maxlen=most)

    def wait(self, now: float, share: float = 1.0) -> float:
        """Return the seconds until one more event fits into that share of the limit."""
        limit = max(int(self._limit * share), 1)
        if len(self._times) < limit:
            return 0.0
        return max(self._times[-limit] + self._seconds - now, 0.0)

    def count(self, now: float) -> None:
        """Record one event."""
        self._times.append(now)


@dataclass(slots=True)
class _ChatState:
    windows: list[Window]
    limited_until: float = 0.0
    no_preview_until: float = 0.0
    last_progress: float = field(default=float("-inf"))


class Gate:
    """Rate limiter of one bot and its chats. A chat is identified by its id, without a thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bot = Window(*BOT)
        self._bot_limited_until = 0.0
        self._chats: OrderedDict[str, _ChatState] = OrderedDict()
        self._refusals: deque[tuple[float, str]] = deque(maxlen=BREAKER_CHATS * 4)
        self._refused_total = 0
        self._delayed_total = 0

    def final(self, chat: str) -> Wait:
        """Return the delay for a message; if there is none, the message counts as sent."""
        now, state = self._clock.monotonic(), self._chat_state(chat)
        bot_delay = max(self._bot_limited_until - now, self._bot.wait(now))
        chat_delay = max(state.limited_until - now, *(window.wait(now) for window in state.windows))
        if bot_delay > 0 or chat_delay > 0:
            self._delayed_total += 1
            return Wait(timedelta(seconds=max(bot_delay, chat_delay)), everywhere=bot_delay >= chat_delay)
        self._count(state, now)
        return Wait()

    def progress(self, chat: str) -> bool:
        """Return whether a preview edit may be sent now, and count it if so. The caller drops an edit that may not."""
        now, state = self._clock.monotonic(), self._chat_state(chat)
        if now < state.last_progress + PROGRESS_EVERY_SECONDS or not self._has_preview_capacity(state, now):
            return False
        state.last_progress = now
        self._count(state, now)
        return True

    def typing(self, chat: str) -> bool:
        """Return whether a typing indicator may be sent now, and count it if so."""
        now, state = self._clock.monotonic(), self._chat_state(chat)
        if not self._has_preview_capacity(state, now):
            return False
        self._count(state, now)
        return True

    def refused(self, chat: str, retry_after: timedelta) -> Wait:
        """Record a 429 from Telegram and return the delay. Several chats in a short time limit the whole bot."""
        now, state = self._clock.monotonic(), self._chat_state(chat)
        seconds = retry_after.total_seconds()
        state.limited_until = max(state.limited_until, now + seconds)
        state.no_preview_until = max(state.no_preview_until, now + seconds + QUIET_SECONDS)
        self._refused_total += 1
        self._refusals.append((now, chat))
        recent_chats = {name for at, name in self._refusals if at > now - BREAKER_SECONDS}
        if len(recent_chats) >= BREAKER_CHATS:
            self._bot_limited_until = max(self._bot_limited_until, now + seconds)
        return Wait(retry_after, everywhere=len(recent_chats) >= BREAKER_CHATS)

    def statistics(self) -> dict[str, int]:
        """Return the number of chats remembered, of refusals by Telegram, and of messages delayed here."""
        return {"chats": len(self._chats), "refused_total": self._refused_total, "held_total": self._delayed_total}

    def _chat_state(self, chat: str) -> _ChatState:
        state = self._chats.get(chat)
        if state is None:
            limits = (CHAT, GROUP) if chat.startswith("-") else (CHAT,)  # only groups have negative ids
            state = self._chats[chat] = _ChatState([Window(*limit) for limit in limits])
            while len(self._chats) > MOST_CHATS:
                self._chats.popitem(last=False)
        self._chats.move_to_end(chat)
        return state

    def _has_preview_capacity(self, state: _ChatState, now: float) -> bool:
        limited_until = max(self._bot_limited_until, state.limited_until, state.no_preview_until)
        windows = (self._bot, *state.windows)
        return now >= limited_until and not any(window.wait(now, PROGRESS_SHARE) for window in windows)

    def _count(self, state: _ChatState, now: float) -> None:
        for window in (self._bot, *state.windows):
            window.count(now)
