"""Policies in the vector store: loaded at the first lookup, and stored with the turn that they come from."""

import logging
from collections.abc import Mapping, Sequence

from sophon.clock import Clock
from sophon.learning.contract import Embedder, StoredPolicy
from sophon.learning.policy_cache import (
    MAX_ENTRIES,
    VectorPolicyCache,
    parse_policy,
    policy_to_json,
)
from sophon.learning.vectors import from_blob, to_blob
from sophon.stores.vectors.contract import POLICIES, VectorRow, VectorStore

log = logging.getLogger("sophon")


def create_policy_cache(
    vectors: VectorStore,
    embedder: Embedder,
    clock: Clock,
) -> VectorPolicyCache:
    """Return a policy cache that begins with the stored policies of the embedder."""
    return VectorPolicyCache(clock.now, source=StoredPolicies(vectors, embedder.name, MAX_ENTRIES))


class StoredPolicies:
    """`PolicySource` of one embedder in the vector store: its newest `limit` policies.

    Those that cannot be read are named once and skipped. All methods raise StoreError.
    """

    def __init__(self, vectors: VectorStore, embedder: str, limit: int) -> None:
        self._vectors, self._embedder, self._limit = vectors, embedder, limit

    async def list_versions(self) -> Mapping[str, int]:
        """See `PolicySource.list_versions`."""
        return await self._vectors.list_versions(POLICIES, self._embedder, self._limit)

    async def load(self, keys: Sequence[str]) -> Sequence[StoredPolicy]:
        """See `PolicySource.load`."""
        return parse_policies(await self._vectors.load_keys(POLICIES, self._embedder, keys))


def parse_policies(rows: Sequence[VectorRow]) -> list[StoredPolicy]:
    """Return the policies of stored rows; those that cannot be read are named in one line of the log and skipped."""
    policies: list[StoredPolicy] = []
    broken: list[str] = []
    for row in rows:
        try:
            vector = from_blob(row.blob, row.dimensions)
            policies.append(parse_policy(row.key, vector, row.data, row.at, row.session_id))
        except ValueError as error:
            broken.append(f"{row.key}: {error}")
    if broken:
        log.warning(
            "%d of the stored routing policies cannot be read and are skipped; `sophon routing reset` deletes them. "
            "The first is %s",
            len(broken),
            broken[0],
        )
    return policies


def to_vector_row(policy: StoredPolicy, embedder: str) -> VectorRow:
    """Return the row in which a policy is stored."""
    blob, data = to_blob(policy.vector), policy_to_json(policy)
    return VectorRow(POLICIES, policy.key, embedder, len(policy.vector), blob, data, policy.at, policy.session_id)
