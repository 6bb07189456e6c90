"""Cache of evaluations: a bounded map from actions to the evaluator's decision, each for a minute."""

from collections import OrderedDict
from typing import Final

from sophon.security.shield.evaluation_texts import Evaluation

SECONDS: Final = 60.0
"""Time that an evaluation counts for the identical action. Source: OpenParallax, Shield."""

MAX_ENTRIES: Final = 1000


class VerdictCache:
    """Keeps the newest `MAX_ENTRIES` evaluations for `SECONDS`; the least recently added goes first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, tuple[float, Evaluation]] = OrderedDict()

    def find(self, key: str, now: float) -> Evaluation | None:
        """Return the evaluation of an action, unless it is too old; `now` in monotonic seconds."""
        found = self._entries.get(key)
        if found is None or now - found[0] >= SECONDS:
            return None
        return found[1]

    def add(self, key: str, evaluation: Evaluation, now: float) -> None:
        """Keep the evaluation of an action."""
        self._entries.pop(key, None)
        self._entries[key] = (now, evaluation)
        if len(self._entries) > MAX_ENTRIES:
            self._entries.popitem(last=False)
