"""Search in the Markdown files of a person's workspace: by words, and by vectors if there is an embedder."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sophon.clock import Clock
from sophon.errors import SophonError
from sophon.learning.contract import Embedder
from sophon.learning.vectors import normalize
from sophon.memory.entry_ranking import fuse
from sophon.memory.workspace_index import FileChunk, IndexedFolder, WorkspaceIndex, read_lines
from sophon.principals import files_folder

if TYPE_CHECKING:
    from sophon.learning.vectors import FloatArray

MIN_SIMILARITY: Final = 0.25
"""Cosine similarity from which a chunk is found without sharing a word, as for entries."""

EMBEDDED_PER_SEARCH: Final = 64
"""Chunks without a vector that get one in a search; until then they are found by words."""

MAX_VECTORS: Final = 20_000
"""Vectors that are kept, 30 MB with 384 dimensions; the folders used last stay."""

MAX_READ_CHARACTERS: Final = 16_000


class WorkspaceSearch:
    """Finds chunks of files, and reads their lines. `folder` has a folder for each owner: see `files_folder`.

    Nothing is stored: words and vectors are in memory, and what is not in a file any more is not found.
    """

    def __init__(self, folder: Path, clock: Clock, embedder: Embedder | None = None) -> None:
        self._folder, self._clock, self._embedder = folder, clock, embedder
        self._index = WorkspaceIndex()
        self._vectors: OrderedDict[Path, dict[bytes, FloatArray]] = OrderedDict()

    async def search(self, query: str, *, owner: str, limit: int) -> list[FileChunk]:
        """Return the best chunks of the owner's files, best first; none for an empty query."""
        if not query.strip() or limit < 1:
            return []
        folder = self._folder / files_folder(owner)

        def find() -> tuple[IndexedFolder, list[FileChunk]]:
            found = self._index.refresh(folder)
            return found, found.search(query, 2 * limit)

        indexed, by_words = await self._clock.run_in_thread(find)
        near = await self._find_near(query, folder, indexed, 2 * limit)
        by_id = {each.id: each for each in (*by_words, *near)}
        ranked = fuse([[each.id for each in by_words], [each.id for each in near]])
        return [by_id[each] for each, _ in ranked[:limit]]

    async def read(self, chunk_id: str, *, owner: str) -> str | None:
        """Return the lines of an id such as `MEMORY.md:12-30` with their numbers, as they are now; None if there are
        none.
        """
        folder = self._folder / files_folder(owner)
        return await self._clock.run_in_thread(lambda: read_lines(folder, chunk_id, MAX_READ_CHARACTERS))

    def forget(self) -> None:
        """Forget what was read."""
        self._index.forget()
        self._vectors.clear()

    async def _find_near(self, query: str, folder: Path, indexed: IndexedFolder, limit: int) -> list[FileChunk]:
        """Return the chunks with the most similar vectors; none without an embedder, or while it fails."""
        if self._embedder is None or not indexed.chunks:
            return []
        made = self._vectors.get(folder, {})
        missing = {each.digest: each.text for each in indexed.chunks if each.digest not in made}
        new = [*missing][:EMBEDDED_PER_SEARCH]
        try:
            vectors = await self._embedder.embed([query, *(missing[each] for each in new)])
        except SophonError:
            return []  # the embedder itself says so once
        made = {**made, **{digest: normalize(vector) for digest, vector in zip(new, vectors[1:], strict=True)}}
        # What is not in the files any more is left out.
        made = {each.digest: made[each.digest] for each in indexed.chunks if each.digest in made}
        self._vectors[folder] = made
        self._vectors.move_to_end(folder)
        while len(self._vectors) > 1 and sum(map(len, self._vectors.values())) > MAX_VECTORS:
            self._vectors.popitem(last=False)
        known = [each for each in indexed.chunks if each.digest in made]
        return _rank(normalize(vectors[0]), known, [made[each.digest] for each in known], limit)


def _rank(
    query: "FloatArray", chunks: Sequence[FileChunk], vectors: "Sequence[FloatArray]", limit: int
) -> list[FileChunk]:
    import numpy as np  # lazy: few processes compare vectors

    if not chunks:
        return []
    similarities = np.vecdot(np.stack(vectors), query)
    best = np.argsort(-similarities, kind="stable")[:limit].tolist()
    return [chunks[each] for each in best if similarities[each] >= MIN_SIMILARITY]
