"""Policies in the vector store: loaded at the first lookup, and stored with the turn that they come from."""

import logging
from collections.abc import Sequence
from functools import partial

from sophon.clock import Clock
from sophon.learning.contract import Embedder
from sophon.learning.policy_cache import (
    PolicyCacheOptions,
    StoredPolicy,
    VectorPolicyCache,
    parse_policy,
    policy_to_json,
)
from sophon.learning.vectors import from_blob, to_blob
from sophon.settings import LearningSettings
from sophon.stores.vectors.contract import POLICIES, VectorRow, VectorStore

log = logging.getLogger("sophon")


def create_policy_cache(
    vectors: VectorStore, embedder: Embedder, clock: Clock, settings: LearningSettings, min_similarity: float
) -> VectorPolicyCache:
    """Return a policy cache that begins with the stored policies of the embedder."""
    options = PolicyCacheOptions(
        min_similarity, settings.policy_neighbours, settings.max_policies, settings.policy_expiry
    )
    load = partial(load_policies, vectors, embedder.name, settings.max_policies)
    return VectorPolicyCache(clock.now, options, load=load)


async def load_policies(vectors: VectorStore, embedder: str, limit: int) -> Sequence[StoredPolicy]:
    """Return the stored policies of an embedder, oldest first; those that cannot be read are named once and skipped.

    Raises StoreError.
    """
    policies: list[StoredPolicy] = []
    broken: list[str] = []
    for row in await vectors.load(POLICIES, embedder, limit):
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
