"""Rate limiter for everything that is sent to Telegram, so that Telegram does not have to refuse.

About 1 message per second in a chat (short bursts pass), 20 per minute in a group, 30 per second overall; edits and
typing indicators count (core.telegram.org/bots/faq). The limiter never waits: it returns the
necessary delay. Final messages may use all of a limit, previews half of it, and two thirds of that of a chat: one
message of any three seconds is left for an answer, so that none waits for its own preview. Edits every 0.6 s, as
nanobot makes them, are more than Telegram states for a chat, and a 429 for them would delay the answer.
"""

from collections import OrderedDict, deque
from dataclasses import field
from datetime import timedelta

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock

NO_DELAY = timedelta(0)
"""No delay: the message may be sent now."""

CHAT_LIMIT = (3, 3.0)
GROUP_LIMIT = (20, 60.0)
BOT_LIMIT = (30, 1.0)
"""Limits as (messages, seconds): of a chat, of a group, of the whole bot."""

PREVIEW_INTERVAL_SECONDS = 1.0
"""Minimum interval between two preview edits in a direct chat."""
GROUP_PREVIEW_INTERVAL_SECONDS = 3.0
"""The same in a group, which has 20 messages a minute."""
PREVIEW_SHARE = 0.5
"""Share of the limits of groups and bot that previews and typing indicators may use."""
CHAT_PREVIEW_SHARE = 0.7
"""The same for the limit of a chat: two of three messages."""
PREVIEW_PAUSE_SECONDS = 600.0
"""How long a chat gets no previews after a 429: about the duration of a run."""

BREAKER_CHATS = 3
BREAKER_SECONDS = 30.0
"""If this many chats are refused within this time, the whole bot is considered limited."""

MAX_BOT_PAUSE_SECONDS = 60.0
"""Maximum pause of the whole bot; a longer delay that Telegram demands applies to the chat that it was demanded for."""
MAX_CHAT_PAUSE_SECONDS = 86_400.0
"""Maximum delay of a chat that is taken from Telegram's answer."""

MAX_CHATS = 10_000
"""Number of chats remembered; the least recently used one is evicted."""


@dataclass(frozen=True, slots=True)
class RateLimitDelay:
    """Delay until the next message may be sent; `is_account_wide` if it applies to all chats."""

    delay: timedelta = NO_DELAY
    is_account_wide: bool = False


class SlidingWindow:
    """Sliding-window limit: at most `limit` events in any `seconds`, exactly."""

    __slots__ = ("_limit", "_seconds", "_times")

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit, self._seconds = limit, seconds
        self._times: deque[float] = deque(maxlen=limit)

    def seconds_until_free(self, now: float, share: float = 1.0) -> float:
        """Return the seconds until one more event fits into that share of the limit."""
        limit = max(int(self._limit * share), 1)
        if len(self._times) < limit:
            return 0.0
        return max(self._times[-limit] + self._seconds - now, 0.0)

    def record(self, now: float) -> None:
        """Record one event."""
        self._times.append(now)


@dataclass(slots=True)
class _ChatLimits:
    windows: list[SlidingWindow]
    limited_until: float = 0.0
    no_preview_until: float = 0.0
    last_progress: float = field(default=float("-inf"))


class TelegramRateLimiter:
    """Rate limiter of one bot and its chats. A chat is identified by its id, without a thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bot = SlidingWindow(*BOT_LIMIT)
        self._bot_limited_until = 0.0
        self._chats: OrderedDict[str, _ChatLimits] = OrderedDict()
        self._refusals: deque[tuple[float, str]] = deque(maxlen=BREAKER_CHATS * 4)
        self._refused_total = 0
        self._delayed_total = 0

    def acquire_message(self, chat: str, messages: int = 1) -> RateLimitDelay:
        """Return the delay for a message; if there is none, it counts as so many `messages` that were sent: Telegram
        counts each file of an album.
        """
        now, state = self._clock.monotonic(), self._chat_limits(chat)
        bot_delay = max(self._bot_limited_until - now, self._bot.seconds_until_free(now))
        chat_delay = max(state.limited_until - now, *(window.seconds_until_free(now) for window in state.windows))
        if bot_delay > 0 or chat_delay > 0:
            self._delayed_total += 1
            return RateLimitDelay(
                timedelta(seconds=max(bot_delay, chat_delay)), is_account_wide=bot_delay >= chat_delay
            )
        for _ in range(messages):
            self._count(state, now)
        return RateLimitDelay()

    def try_acquire_preview(self, chat: str) -> bool:
        """Return whether a preview edit may be sent now, and count it if so. The caller drops an edit that may not."""
        now, state = self._clock.monotonic(), self._chat_limits(chat)
        interval = GROUP_PREVIEW_INTERVAL_SECONDS if _is_group(chat) else PREVIEW_INTERVAL_SECONDS
        if now < state.last_progress + interval or not self._has_preview_capacity(state, now):
            return False
        state.last_progress = now
        self._count(state, now)
        return True

    def try_acquire_typing(self, chat: str) -> bool:
        """Return whether a typing indicator may be sent now, and count it if so."""
        now, state = self._clock.monotonic(), self._chat_limits(chat)
        if not self._has_preview_capacity(state, now):
            return False
        self._count(state, now)
        return True

    def record_refusal(self, chat: str, retry_after: timedelta) -> RateLimitDelay:
        """Record a 429 from Telegram and return the delay of its chat. Several chats in a short time pause the whole
        bot too, for at most `MAX_BOT_PAUSE_SECONDS`; `acquire_message` applies that.
        """
        now, state = self._clock.monotonic(), self._chat_limits(chat)
        seconds = retry_after.total_seconds()
        state.limited_until = max(state.limited_until, now + seconds)
        state.no_preview_until = max(state.no_preview_until, now + seconds + PREVIEW_PAUSE_SECONDS)
        self._refused_total += 1
        self._refusals.append((now, chat))
        recent_chats = {name for at, name in self._refusals if at > now - BREAKER_SECONDS}
        if len(recent_chats) >= BREAKER_CHATS:
            self._bot_limited_until = max(self._bot_limited_until, now + min(seconds, MAX_BOT_PAUSE_SECONDS))
        return RateLimitDelay(retry_after)

    def bot_pause_seconds(self) -> float:
        """Return for how long the whole bot is still paused, 0 if it is not."""
        return max(self._bot_limited_until - self._clock.monotonic(), 0.0)

    def statistics(self) -> dict[str, int]:
        """Return the number of chats remembered, of refusals by Telegram, and of messages delayed here."""
        return {"chats": len(self._chats), "refused_total": self._refused_total, "held_total": self._delayed_total}

    def _chat_limits(self, chat: str) -> _ChatLimits:
        state = self._chats.get(chat)
        if state is None:
            limits = (CHAT_LIMIT, GROUP_LIMIT) if _is_group(chat) else (CHAT_LIMIT,)
            state = self._chats[chat] = _ChatLimits([SlidingWindow(*limit) for limit in limits])
            while len(self._chats) > MAX_CHATS:
                self._chats.popitem(last=False)
        self._chats.move_to_end(chat)
        return state

    def _has_preview_capacity(self, state: _ChatLimits, now: float) -> bool:
        limited_until = max(self._bot_limited_until, state.limited_until, state.no_preview_until)
        of_chat, *others = state.windows
        return (
            now >= limited_until
            and not of_chat.seconds_until_free(now, CHAT_PREVIEW_SHARE)
            and not any(window.seconds_until_free(now, PREVIEW_SHARE) for window in (self._bot, *others))
        )

    def _count(self, state: _ChatLimits, now: float) -> None:
        for window in (self._bot, *state.windows):
            window.record(now)


def _is_group(chat: str) -> bool:
    """Return whether the id is that of a group: only those are negative."""
    return chat.startswith("-")
