"""A sub-agent adds no transaction of its own: its rows, events and calls are in those of its turn."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine, event

from sophon_hosting.events import sequencer
from tests.agents import ask, call
from tests.hosting.agents.conftest import HostedShop


class Commits:
    """Counts the commits of all engines."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, connection: Connection) -> None:
        self.count += 1


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Commits]:
    monkeypatch.setattr(sequencer, "WRITE_BEHIND_SECONDS", 60.0)
    monkeypatch.setattr(sequencer, "TRACE_SECONDS", 60.0)
    commits = Commits()
    event.listen(Engine, "commit", commits)
    yield commits
    event.remove(Engine, "commit", commits)


@pytest.mark.parametrize("shop", ["sqlite"], indirect=True)
async def test_a_round_with_a_sub_agent_commits_as_often_as_one_with_a_tool(shop: HostedShop, commits: Commits) -> None:
    await shop.host()
    shop.scripts = {"main": [[call("look")]]}
    await shop.ended(await shop.send())
    commits.count = 0
    await shop.ended(await shop.send())
    with_tool = commits.count
    shop.scripts = {"main": [[ask("helper")]]}
    commits.count = 0
    receipt = await shop.send()
    await shop.ended(receipt)
    assert commits.count <= with_tool <= 5
    assert len(await shop.store.sub_agents.list_for_task(receipt.task_id)) == 1
