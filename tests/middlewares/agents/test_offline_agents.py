"""Agents without a key: the offline model gives a task to an agent, which works on it with its own tools."""

from pathlib import Path

from sophon import Services
from sophon.chain.placement import place
from sophon.events import SubAgentChanged
from sophon.models.offline import OfflineModel
from sophon.testing import EventRecorder
from sophon_middlewares.agents.agents import Agents
from sophon_middlewares.chains import twelve


async def test_the_offline_model_asks_an_agent(tmp_path: Path) -> None:
    front = "name: counter\ndescription: Counts.\ntools: [calculator]"
    (tmp_path / "counter.md").write_text(f"---\n{front}\n---\nYou count.\n")
    events = EventRecorder()
    services = Services(models=OfflineModel(), settings={"Agents": {"Directory": str(tmp_path)}}, events=events)
    response = await place(twelve(services), [Agents()]).run(services.turn("Ask agent counter to calculate 17 * 23"))
    assert "The agent counter answered:" in response.text
    assert "391" in response.text
    assert [each.state for each in events.of(SubAgentChanged)] == ["spawning", "working", "completed"]
