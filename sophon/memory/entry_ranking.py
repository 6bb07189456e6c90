"""Ranking of found entries: fusion of several rankings, decay by age, and diversity among the best."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

IdT = TypeVar("IdT", bound=Hashable)


def fuse(rankings: Iterable[Sequence[IdT]], k: int = 60) -> list[tuple[IdT, float]]:
    """Fuse rankings by reciprocal rank: return each id with its score, best first; the best score is 1.0.

    An id scores the sum of 1 / (k + rank) over the rankings, whose ranks count from 1; a repeated id counts once per
    ranking. Ties are in order of first appearance.
    """
    scores: dict[IdT, float] = {}
    for ranking in rankings:
        for rank, each in enumerate(dict.fromkeys(ranking), 1):
            scores[each] = scores.get(each, 0.0) + 1 / (k + rank)
    best = max(scores.values(), default=1.0)
    return sorted(((each, score / best) for each, score in scores.items()), key=lambda pair: -pair[1])


def decayed(score: float, age_days: float, half_life_days: float = 180) -> float:
    """Return a score that halves every `half_life_days`; an entry from the future counts as new."""
    if half_life_days <= 0:
        raise ValueError(f"half_life_days must be above 0, not {half_life_days}")
    return score * math.exp2(-max(age_days, 0.0) / half_life_days)


def mmr(
    query_vector: Sequence[float],
    candidates: Sequence[tuple[IdT, Sequence[float]]],
    limit: int,
    lambda_: float = 0.7,
) -> list[IdT]:
    """Choose ids by maximal marginal relevance: near to the query, and unlike those that are chosen already.

    Similarity is the cosine; `lambda_` is the weight of the query, 1 - `lambda_` that of the most similar chosen one.
    Ties go to the earlier candidate.
    """
    query = _normalize(query_vector)
    vectors = [_normalize(vector) for _, vector in candidates]
    relevance = [_dot(query, vector) for vector in vectors]
    nearest = [-1.0] * len(vectors)  # cosine to the most similar chosen one, by candidate
    remaining = list(range(len(vectors)))
    chosen: list[IdT] = []
    while remaining and len(chosen) < limit:
        best = max(remaining, key=lambda index: lambda_ * relevance[index] - (1 - lambda_) * nearest[index])
        remaining.remove(best)
        chosen.append(candidates[best][0])
        for index in remaining:
            nearest[index] = max(nearest[index], _dot(vectors[index], vectors[best]))
    return chosen


def choose_diverse(
    scores: Sequence[float], vectors: Sequence[Sequence[float] | None], limit: int, lambda_: float = 0.7
) -> list[int]:
    """Choose indexes by maximal marginal relevance, as `mmr` does, with scores (0 to 1) as relevance.

    `vectors` are of length 1; what has none is unlike everything. Ties go to the earlier one.
    """
    import numpy as np  # lazy: where there are no vectors, nobody needs it

    dimensions = next((len(vector) for vector in vectors if vector is not None), 1)
    matrix = np.zeros((len(scores), dimensions), np.float32)
    for row, vector in enumerate(vectors):
        if vector is not None:
            matrix[row] = vector
    relevance = lambda_ * np.asarray(scores)
    nearest = np.zeros(len(scores))
    chosen: list[int] = []
    for _ in range(min(limit, len(scores))):
        values = relevance - (1 - lambda_) * nearest
        values[chosen] = -np.inf
        best = int(values.argmax())
        chosen.append(best)
        # Not `matrix @ matrix.T`: BLAS would wait for threads, which takes milliseconds on a busy machine.
        nearest = np.maximum(nearest, np.vecdot(matrix, matrix[best]))
    return chosen


def _normalize(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(each * each for each in vector))
    return [each / length for each in vector] if length else [0.0] * len(vector)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
