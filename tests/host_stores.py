"""Fixtures of the contract tests: a host's store over each database, without rows, and its clock."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.testing import VirtualClock
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.factory import host_store_from_url
from tests.store_urls import store_url as store_url


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[HostStore]:
    store = host_store_from_url(store_url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()
