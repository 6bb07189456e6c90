"""Hybrid memory: which chains search it by vectors, too, with nothing else set."""

from pathlib import Path

import pytest

from sophon import Services
from sophon.settings import Settings
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.memories.contract import MemoryEntry
from sophon_middlewares.chains import CHAINS
from sophon_middlewares.chains.chain_settings import complete_for_chain

HYBRID = {"clawdesk", "openparallax"}


def build(tmp_path: Path, **settings: object) -> Services:
    completed = complete_for_chain(Settings.from_mapping(settings))
    return Services.from_settings(completed, folder=tmp_path, store=InMemoryStore())


@pytest.mark.parametrize("chain", CHAINS)
async def test_these_chains_find_by_words_and_vectors_with_nothing_else_set(chain: str, tmp_path: Path) -> None:
    services = build(tmp_path, Chain={"Name": chain})
    await services.memory.write(MemoryEntry("1", "Heizungsanlage", scope="ada", sources=()))
    found = await services.memory.search("Heizung", scope="ada")
    assert [each.source for each in found] == (["vector"] if chain in HYBRID else [])


async def test_what_the_host_has_set_wins(tmp_path: Path) -> None:
    assert not build(tmp_path, Chain={"Name": "clawdesk"}, Memory={"Embedder": None}).memory.has_vectors
