"""Trajectories with similar requests; the vectors of the requests are computed when they are first needed."""

from collections.abc import Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.contract import Embedder, Vector
from sophon.learning.trajectories import Trajectory
from sophon.learning.vector_index import ExactIndex
from sophon.learning.vectors import from_blob, to_blob
from sophon.stores.trajectories.sql import TrajectoryStore
from sophon.stores.vectors.contract import TRAJECTORIES, VectorRow, VectorStore


@dataclass(frozen=True, slots=True)
class SimilarTrajectory:
    """A trajectory, and the cosine similarity of its request to the text, -1 to 1."""

    trajectory: Trajectory
    similarity: float


async def find_similar(
    trajectories: TrajectoryStore,
    vectors: VectorStore,
    embedder: Embedder,
    text: str,
    *,
    limit: int,
    most: int,
    principal: str | None = None,
) -> Sequence[SimilarTrajectory]:
    """Return the trajectories whose requests are most similar to a text, best first.

    The newest `most` are searched. Vectors that are missing or cannot be read are computed and stored; those of deleted
    trajectories are deleted. Raises StoreError, and ModelError of the embedder.
    """
    found = {each.run_id: each for each in await trajectories.list(limit=most, principal=principal)}
    (query,) = await embedder.embed([text])
    by_run: dict[str, Vector] = {}
    gone: list[str] = []
    for row in await vectors.load(TRAJECTORIES, embedder.name, most):
        if row.key in found:
            try:
                by_run[row.key] = from_blob(row.blob, row.dimensions)
            except ValueError:
                gone.append(row.key)
        elif principal is None:
            gone.append(row.key)
    if gone:
        await vectors.delete(TRAJECTORIES, gone)
    missing = [each for each in found.values() if each.run_id not in by_run]
    if missing:
        new = await embedder.embed([each.request for each in missing])
        by_run |= {each.run_id: vector for each, vector in zip(missing, new, strict=True)}
        await vectors.put([_to_row(each, embedder.name, by_run[each.run_id]) for each in missing])
    index = ExactIndex(len(query), max(len(by_run), 1))
    for run_id, vector in by_run.items():
        if len(vector) == len(query):
            index.add(run_id, vector)
    return [SimilarTrajectory(found[match.key], match.similarity) for match in index.search(query, limit)]


def _to_row(trajectory: Trajectory, embedder: str, vector: Vector) -> VectorRow:
    return VectorRow(
        TRAJECTORIES,
        trajectory.run_id,
        embedder,
        len(vector),
        to_blob(vector),
        {},
        trajectory.at,
        trajectory.session_id,
    )
