"""Notes of a workspace are found by words and by similarity; a vector is made once per text."""

from collections.abc import Sequence
from pathlib import Path

from sophon.errors import ProviderUnavailable
from sophon.learning.contract import Vector
from sophon.stores.memories.workspace_search import WorkspaceSearch
from sophon.testing import VirtualClock


class Topics:
    """Embedder that knows that a feline is a cat."""

    name, dimensions = "topics", 2

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self.fails:
            raise ProviderUnavailable("down")
        self.asked += texts
        return [[float("cat" in text or "feline" in text), float("tea" in text)] for text in texts]


async def test_notes_are_found_by_similarity_and_embedded_once(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("a feline")
    (tmp_path / "USER.md").write_text("some tea")
    topics = Topics()
    search = WorkspaceSearch(tmp_path, VirtualClock(auto=False), topics)
    for _ in range(2):
        assert [each.id for each in await search.search("cat", owner="local", limit=5)] == ["MEMORY.md:1-1"]
    assert topics.asked == ["cat", "a feline", "some tea", "cat"]
    (tmp_path / "MEMORY.md").unlink()
    assert await search.search("cat", owner="local", limit=5) == []
    assert [len(made) for made in search._vectors.values()] == [1]


async def test_without_an_embedder_that_answers_words_find_notes(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("a cat")
    topics = Topics()
    topics.fails = True
    for embedder in (None, topics):
        search = WorkspaceSearch(tmp_path, VirtualClock(auto=False), embedder)
        assert [each.text for each in await search.search("cats", owner="", limit=5)] == ["a cat"]
        assert await search.search(" ", owner="", limit=5) == []


async def test_each_owner_has_notes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("a cat of the local user")
    own = tmp_path / "principals" / "telegram_3a5"
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("another cat")
    search = WorkspaceSearch(tmp_path, VirtualClock(auto=False))
    for owner, text in (("local", "a cat of the local user"), ("telegram:5", "another cat")):
        assert [each.text for each in await search.search("cat", owner=owner, limit=5)] == [text]
        assert await search.read("MEMORY.md:1-9", owner=owner) == f"1: {text}"
    assert await search.search("cat", owner="group:s", limit=5) == []
    assert await search.read("MEMORY.md:1-9", owner="group:s") is None
