"""Vectors as float32: conversion, normalisation, and the little-endian blobs that a store keeps."""

import math
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from sophon.learning.contract import Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float32]

BYTES_PER_NUMBER: Final = 4


def normalize(vector: Vector) -> "FloatArray":
    """Return the vector with length 1, as float32; a zero vector stays one.

    Raises ValueError for what is no list of finite numbers.
    """
    import numpy as np  # lazy: it takes 0.1 s, and most processes compare no vectors

    with np.errstate(all="ignore"):  # what overflows is no finite number, which is checked
        try:
            array = np.asarray(vector, dtype=np.float32)
        except (TypeError, OverflowError) as error:
            raise ValueError(f"not a vector: {error}") from error
        squares = float(np.dot(array, array)) if array.ndim == 1 else 0.0
    if array.ndim != 1 or not array.size:
        raise ValueError(f"a vector is a list of numbers, and this has the shape {array.shape}")
    length = math.sqrt(squares) if squares < math.inf else math.inf
    if not math.isfinite(length) or not np.isfinite(array).all():
        raise ValueError("a vector must hold finite numbers")
    return array / np.float32(length) if length else array


def to_unit_vector(vector: Vector) -> Vector:
    """Return what `normalize` returns, as the vector that it is for callers without numpy. Raises ValueError."""
    return cast(Vector, normalize(vector))


def to_blob(vector: Vector) -> bytes:
    """Return the numbers as little-endian float32."""
    import numpy as np

    return np.asarray(vector, dtype="<f4").tobytes()


def from_blob(blob: bytes, dimensions: int) -> Vector:
    """Invert `to_blob`. Raises ValueError for another length, and for numbers that are not finite."""
    import numpy as np

    if dimensions < 1 or len(blob) != dimensions * BYTES_PER_NUMBER:
        raise ValueError(f"{len(blob)} bytes are no vector of {dimensions} dimensions")
    array = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    if not np.isfinite(array).all():
        raise ValueError("a vector must hold finite numbers")
    return cast(Vector, array)
