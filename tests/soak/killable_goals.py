"""A host for a test to kill while it works on goals. Arguments: the folder, and how many goals there are.

Prints a line for each effect of a step, and ends when every goal has ended and been reported.
"""

import asyncio
import json
import sys
from pathlib import Path

from sophon import ModelRequest, ModelResponse, Services, tool
from sophon.testing import FunctionModel
from sophon_hosting.features.goals.engine import GoalEngine
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.host import Host
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve

folder, GOALS = Path(sys.argv[1]), int(sys.argv[2])
STEPS = 3


def tell(*words: str) -> None:
    print(*words, flush=True)


@tool()
async def note(text: str) -> str:
    """Keep a note."""
    with (folder / "kept.txt").open("a") as file:
        file.write(f"{text}\n")
    tell("kept", text)
    await asyncio.sleep(0.02)  # a kill leaves it without a result
    return text


async def answer(request: ModelRequest) -> ModelResponse:
    if request.purpose != "plan":
        return ModelResponse("Reported")
    name = request.messages[-1].content
    steps = [
        {
            "id": f"s{number}",
            "description": f"Keep {number}",
            "depends_on": [f"s{number - 1}"] if number else [],
            "tool": "note",
            "arguments": {"text": f"{name}/{number}"},
        }
        for number in range(STEPS)
    ]
    return ModelResponse(json.dumps({"goal": name, "steps": steps}))


async def main() -> None:
    services = Services(
        models=FunctionModel(answer),
        tools=[note],
        store=host_store_from_url("sqlite:///host.db", folder=folder),
        settings={
            "Goals": {
                "Enabled": True,
                "Review": False,
                "Tick": "00:00:00.05",
                "FailPausedAfter": "00:00:00.1",
                "Limits": {"TasksPerHour": 1000},
                "MaxConcurrent": 10,
            },
            "Guards": {"RateLimit": {"Enabled": False}},
            "AgentExecution": {"Titles": False},
        },
    )
    async with Host(services, twelve(services)) as host:
        engine = GoalEngine(host)
        engine.start()
        goals = stored_goals(services.store)
        commands = GoalCommands(
            services.store, services.clock, services.settings.section(GoalsSettings), host.event_bus
        )
        for number in range(GOALS):
            await services.store.sessions.get_or_create("chat", "ada")
            name = f"g{number}"
            await commands.create(owner="ada", title=name, session_id="chat", goal_id=name)
        tell("started")
        while any(each.is_live or not each.reported for each in await goals.list()):
            await asyncio.sleep(0.02)
        while await services.store.runs.list_unfinished():
            await asyncio.sleep(0.02)
        await engine.stop()


asyncio.run(main())
