"""Contracts of routing and learning: embedder, cache of routing decisions, and scorer of replies."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.fitness import Fitness

Vector: TypeAlias = Sequence[float]
"""Embedding of a text; a list of floats or a float32 array of one dimension."""


class Embedder(Protocol):
    """Turns texts into vectors of `dimensions` numbers; texts of a similar meaning have a high cosine similarity."""

    @property
    def name(self) -> str:
        """Name of the embedder and its model; vectors of different names cannot be compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of each vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector for each text, in their order. Raises SophonError."""
        ...


class EmbedderWrapper:
    """Base class of embedders that pass texts on to another one: what it is called, what it costs, and its end."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """See `Embedder.dimensions`."""
        return self._embedder.dimensions

    @property
    def info(self) -> object:
        """`MeteredEmbedder.info` of the embedder, if it is metered."""
        return getattr(self._embedder, "info", None)

    async def aclose(self) -> None:
        """Close the connections of the embedder, if it has any."""
        close = getattr(self._embedder, "aclose", None)
        if close is not None:
            await close()


@dataclass(frozen=True, slots=True)
class CachedPolicy:
    """Routing decision of an earlier message: its tier and model, its quality and the similarity, both 0 to 1.

    `is_poor`: the answer was poor; otherwise it was good.
    """

    tier: str
    model: str
    quality: float
    similarity: float
    is_poor: bool = False


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Routing decision as it is kept: the vector of the message, what was chosen, the quality of the answer.

    `session_id` and `run_id` are those of the turn; "" where the decision is of no stored turn. `is_poor` as in
    `CachedPolicy`.
    """

    key: str
    vector: Vector
    tier: str
    model: str
    quality: float
    at: datetime
    session_id: str = ""
    run_id: str = ""
    is_poor: bool = False


class PolicyCache(Protocol):
    """Routing decisions of earlier messages whose answers were judged, found by the similarity of the messages.

    The caller stores what `take_pending` returns, and deletes the keys that `forget` returns.
    """

    async def lookup(self, vector: Vector) -> Sequence[CachedPolicy]:
        """Return the decisions of similar messages, the latest first; their similarity is above the threshold (0.85).

        There are at most as many as the cache looks at, those of the most similar messages.
        """
        ...

    async def record(
        self,
        vector: Vector,
        tier: str,
        model: str,
        quality: float,
        *,
        session_id: str = "",
        run_id: str = "",
        is_poor: bool = False,
    ) -> None:
        """Keep the decision of a message whose answer was judged; a later one of that tier for it replaces it."""
        ...

    def take_pending(self) -> Sequence[StoredPolicy]:
        """Return the decisions of runs that were recorded since the last call."""
        ...

    def forget(self, *, session_id: str | None = None, run_id: str | None = None) -> Sequence[str]:
        """Forget the decisions of a session or of a run, by default all; return their keys."""
        ...

    async def warm_up(self) -> None:
        """Load what is stored, unless that was done."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """What a scorer sees of a turn: texts of the request and the reply, and counts.

    `tool_failures` counts the calls that ended in an error, among `tools_used`.
    """

    request_text: str
    reply_text: str
    task_type: str = "chat"
    finish_reason: str = "stop"
    output_tokens: int = 0
    tools_offered: int = 0
    tools_used: int = 0
    tool_failures: int = 0


class Scorer(Protocol):
    """Scores the reply of a turn; routing learns from what a scorer says, but for the formulas that Sophon ships."""

    def score(self, turn: ScoredTurn) -> Fitness | None:
        """Return the scores, each 0 to 1; None without an opinion."""
        ...
