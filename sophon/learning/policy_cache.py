"""Policy cache: routing decisions of messages whose answers were judged, by similarity. Source: clawft."""

import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from sophon.learning.contract import CachedPolicy, StoredPolicy, Vector
from sophon.learning.vector_index import ExactIndex
from sophon.learning.vectors import to_blob, to_unit_vector

SIMILARITY_THRESHOLD: Final = 0.85
"""A similarity must be above it."""
NEIGHBOURS: Final = 5
MAX_ENTRIES: Final = 10_000
EXPIRY: Final = timedelta(days=30)
REFRESH: Final = timedelta(seconds=30)
"""Time after which what other processes have stored and deleted is read: one query per process, not per message."""


class PolicySource(Protocol):
    """The stored policies."""

    async def list_versions(self) -> Mapping[str, int]:
        """Return a number for each key, oldest first; a policy that is stored again gets another one."""
        ...

    async def load(self, keys: Sequence[str]) -> Sequence[StoredPolicy]:
        """Return policies, oldest first; a key that has none is ignored."""
        ...


class VectorPolicyCache:
    """`PolicyCache` over a vector index in memory, which is filled with the stored policies at first use.

    Afterwards only what has changed in `source` is read, at the first lookup after `REFRESH`. What
    is recorded of a run waits in `take_pending` for whoever stores it. `now` returns the time.
    """

    def __init__(self, now: Callable[[], datetime], *, source: PolicySource | None = None) -> None:
        self._now, self._source = now, source
        self._index: ExactIndex | None = None
        self._policies: dict[str, StoredPolicy] = {}
        self._pending: deque[StoredPolicy] = deque(maxlen=MAX_ENTRIES)
        self._versions: Mapping[str, int] = {}
        """Those of `source` when it was read last."""
        self._read_at: datetime | None = None

    async def lookup(self, vector: Vector) -> list[CachedPolicy]:
        """See `PolicyCache.lookup`; what has expired is forgotten."""
        await self._refresh()
        near = self._list_near(vector)
        near.sort(key=lambda found: found[0].at, reverse=True)
        return [to_cached(policy, similarity) for policy, similarity in near]

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
        """See `PolicyCache.record`. A decision of no run is kept in memory only."""
        await self.warm_up()
        unit = to_unit_vector(vector)
        key = hashlib.blake2b(to_blob(unit) + tier.encode(), digest_size=16).hexdigest()
        policy = StoredPolicy(key, unit, tier, model, quality, self._now(), session_id, run_id, is_poor)
        if self._add(policy) and run_id:
            self._pending.append(policy)

    async def warm_up(self) -> None:
        """Load the stored policies, unless that was done. Raises StoreError."""
        if self._read_at is None:
            await self._read()

    async def _refresh(self) -> None:
        read_at = self._read_at
        if read_at is None or self._now() - read_at >= REFRESH:
            await self._read()

    async def _read(self) -> None:
        """Take over what the source has that was not there at the last time, and forget what it has no more."""
        if self._source is None:
            self._read_at = self._now()
            return
        before = self._read_at
        if before is not None:
            self._read_at = self._now()  # a store that fails is asked again after the interval, not at each lookup
        versions = await self._source.list_versions()
        changed = [key for key, version in versions.items() if self._versions.get(key) != version]
        loaded = await self._source.load(changed) if changed else ()
        if before is None and self._read_at is not None:  # meanwhile by a concurrent caller
            return
        self._forget([key for key in self._versions if key not in versions])
        for policy in loaded:
            if not self._is_expired(policy):
                self._add(policy)
        self._versions, self._read_at = versions, self._now()

    def take_pending(self) -> list[StoredPolicy]:
        """Return what was recorded since the last call, to be stored."""
        taken = list(self._pending)
        self._pending.clear()
        return taken

    def forget(self, *, session_id: str | None = None, run_id: str | None = None) -> list[str]:
        """See `PolicyCache.forget`."""
        keys = [
            key
            for key, policy in self._policies.items()
            if session_id in (None, policy.session_id) and run_id in (None, policy.run_id)
        ]
        self._forget(keys)
        return keys

    def _list_near(self, vector: Vector) -> list[tuple[StoredPolicy, float]]:
        """Return the nearest decisions above the threshold that have not expired, with their similarities."""
        if self._index is None:
            return []
        try:
            matches = self._index.search(vector, NEIGHBOURS)
        except ValueError:  # of an embedder with other dimensions
            return []
        near: list[tuple[StoredPolicy, float]] = []
        for match in matches:
            if match.similarity <= SIMILARITY_THRESHOLD:
                break
            policy = self._policies[match.key]
            if self._is_expired(policy):
                self._remove(match.key)
            else:
                near.append((policy, min(match.similarity, 1.0)))
        return near

    def _forget(self, keys: Sequence[str]) -> None:
        for key in keys:
            if key in self._policies:
                self._remove(key)
        gone = set(keys)
        kept = [policy for policy in self._pending if policy.key not in gone]
        self._pending.clear()
        self._pending.extend(kept)

    def _add(self, policy: StoredPolicy) -> bool:
        """Add a policy; return False for a vector that cannot be compared with the others."""
        if self._index is None:
            self._index = ExactIndex(len(policy.vector), MAX_ENTRIES)
        try:
            self._index.add(policy.key, policy.vector)
        except ValueError:
            return False
        self._policies.pop(policy.key, None)
        self._policies[policy.key] = policy
        while len(self._policies) > MAX_ENTRIES:  # the index has dropped the oldest
            del self._policies[next(iter(self._policies))]
        return True

    def _remove(self, key: str) -> None:
        del self._policies[key]
        if self._index is not None:
            self._index.remove(key)

    def _is_expired(self, policy: StoredPolicy) -> bool:
        return policy.at + EXPIRY <= self._now()


def to_cached(policy: StoredPolicy, similarity: float) -> CachedPolicy:
    """Return what routing reads of a policy."""
    return CachedPolicy(policy.tier, policy.model, policy.quality, similarity, policy.is_poor)


def policy_to_json(policy: StoredPolicy) -> dict[str, Any]:
    """Return what is kept of a policy beside its vector."""
    found: dict[str, Any] = {"tier": policy.tier, "model": policy.model, "quality": policy.quality}
    return found | {"run_id": policy.run_id, "is_poor": policy.is_poor}


def parse_policy(key: str, vector: Vector, data: Any, at: datetime, session_id: str) -> StoredPolicy:
    """Invert `policy_to_json`. Raises ValueError for data of another form."""
    try:
        tier, model, run_id = data["tier"], data["model"], data.get("run_id", "")
        quality, is_poor = float(data["quality"]), data.get("is_poor", False) is True
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"no policy: {type(error).__name__}: {error}") from error
    if not all(isinstance(text, str) for text in (tier, model, run_id)) or not 0 <= quality <= 1:
        raise ValueError("no policy: tier and model are texts, and the quality is 0 to 1")
    return StoredPolicy(key, vector, tier, model, quality, at, session_id, run_id, is_poor)
