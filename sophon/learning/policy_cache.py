"""Policy cache: routing decisions of messages that were answered well, found by similarity. Source: clawft.md 3.8."""

import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sophon.lazy_dataclass import dataclass
from sophon.learning.contract import CachedPolicy, Vector
from sophon.learning.vector_index import VectorIndex, create_index
from sophon.learning.vectors import to_blob, to_unit_vector

SIMILARITY_THRESHOLD: Final = 0.85
NEIGHBOURS: Final = 5
MAX_ENTRIES: Final = 10_000
EXPIRY: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """Routing decision as it is kept: the vector of the message, what was chosen, the quality of the answer.

    `session_id` and `run_id` are those of the turn; "" where the decision is of no stored turn.
    """

    key: str
    vector: Vector
    tier: str
    model: str
    quality: float
    at: datetime
    session_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class PolicyCacheOptions:
    """Bounds of a policy cache; the similarity must be above `threshold`."""

    threshold: float = SIMILARITY_THRESHOLD
    neighbours: int = NEIGHBOURS
    max_entries: int = MAX_ENTRIES
    expiry: timedelta | None = EXPIRY


@dataclass(frozen=True, slots=True)
class PolicyCacheStatistics:
    """Entries now, and lookups that found one (`hits`) and none (`misses`) since the start."""

    entries: int
    hits: int
    misses: int


LoadPolicies = Callable[[], Awaitable[Sequence[StoredPolicy]]]
"""Returns the stored policies, oldest first."""


async def load_nothing() -> Sequence[StoredPolicy]:
    """Return no policies."""
    return []


class VectorPolicyCache:
    """`PolicyCache` over a vector index in memory, which is filled with the stored policies at first use.

    What it records of a run waits in `take_pending` for whoever stores it. `now` returns the time.
    """

    def __init__(
        self,
        now: Callable[[], datetime],
        options: PolicyCacheOptions = PolicyCacheOptions(),  # noqa: B008 - frozen
        *,
        load: LoadPolicies = load_nothing,
    ) -> None:
        self._now, self._options, self._load = now, options, load
        self._index: VectorIndex | None = None
        self._policies: dict[str, StoredPolicy] = {}
        self._pending: deque[StoredPolicy] = deque(maxlen=options.max_entries)
        self._is_loaded = False
        self._hits = self._misses = 0

    async def lookup(self, vector: Vector) -> CachedPolicy | None:
        """Return the nearest decision if its similarity is above the threshold and it has not expired."""
        await self.warm_up()
        found = self._find(vector)
        if found is None:
            self._misses += 1
        else:
            self._hits += 1
        return found

    async def record(
        self, vector: Vector, tier: str, model: str, quality: float, *, session_id: str = "", run_id: str = ""
    ) -> None:
        """Keep a decision; a later one for the same vector replaces it. One of no run is kept in memory only."""
        await self.warm_up()
        unit = to_unit_vector(vector)
        key = hashlib.blake2b(to_blob(unit), digest_size=16).hexdigest()
        policy = StoredPolicy(key, unit, tier, model, quality, self._now(), session_id, run_id)
        if self._add(policy) and run_id:
            self._pending.append(policy)

    async def warm_up(self) -> None:
        """Load the stored policies, unless that was done."""
        if self._is_loaded:
            return
        loaded = await self._load()
        if self._is_loaded:  # meanwhile by a concurrent caller
            return
        self._is_loaded = True
        for policy in loaded:
            if not self._is_expired(policy):
                self._add(policy)

    def take_pending(self) -> list[StoredPolicy]:
        """Return what was recorded since the last call, to be stored."""
        taken = list(self._pending)
        self._pending.clear()
        return taken

    def forget(self, *, session_id: str | None = None, run_id: str | None = None) -> list[str]:
        """Forget the decisions of a session or of a run, by default all; return their keys."""
        keys = [
            key
            for key, policy in self._policies.items()
            if session_id in (None, policy.session_id) and run_id in (None, policy.run_id)
        ]
        for key in keys:
            self._remove(key)
        gone = set(keys)
        kept = [policy for policy in self._pending if policy.key not in gone]
        self._pending.clear()
        self._pending.extend(kept)
        return keys

    def statistics(self) -> PolicyCacheStatistics:
        """Return the current counts."""
        return PolicyCacheStatistics(len(self._policies), self._hits, self._misses)

    def _find(self, vector: Vector) -> CachedPolicy | None:
        if self._index is None:
            return None
        try:
            matches = self._index.search(vector, self._options.neighbours)
        except ValueError:  # of an embedder with other dimensions
            return None
        for match in matches:
            if match.similarity <= self._options.threshold:
                return None
            policy = self._policies[match.key]
            if not self._is_expired(policy):
                return CachedPolicy(policy.tier, policy.model, policy.quality, min(match.similarity, 1.0))
            self._remove(match.key)
        return None

    def _add(self, policy: StoredPolicy) -> bool:
        """Add a policy; return False for a vector that cannot be compared with the others."""
        if self._index is None:
            self._index = create_index(len(policy.vector), self._options.max_entries)
        try:
            self._index.add(policy.key, policy.vector)
        except ValueError:
            return False
        self._policies.pop(policy.key, None)
        self._policies[policy.key] = policy
        while len(self._policies) > self._options.max_entries:  # the index has dropped the oldest
            del self._policies[next(iter(self._policies))]
        return True

    def _remove(self, key: str) -> None:
        del self._policies[key]
        if self._index is not None:
            self._index.remove(key)

    def _is_expired(self, policy: StoredPolicy) -> bool:
        expiry = self._options.expiry
        return expiry is not None and policy.at + expiry <= self._now()


def policy_to_json(policy: StoredPolicy) -> dict[str, Any]:
    """Return what is kept of a policy beside its vector."""
    return {"tier": policy.tier, "model": policy.model, "quality": policy.quality, "run_id": policy.run_id}


def parse_policy(key: str, vector: Vector, data: Any, at: datetime, session_id: str) -> StoredPolicy:
    """Invert `policy_to_json`. Raises ValueError for data of another form."""
    try:
        tier, model, run_id = data["tier"], data["model"], data.get("run_id", "")
        quality = float(data["quality"])
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"no policy: {type(error).__name__}: {error}") from error
    if not all(isinstance(text, str) for text in (tier, model, run_id)) or not 0 <= quality <= 1:
        raise ValueError("no policy: tier and model are texts, and the quality is 0 to 1")
    return StoredPolicy(key, vector, tier, model, quality, at, session_id, run_id)
