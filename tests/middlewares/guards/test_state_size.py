"""What the guards keep of a turn does not grow with its rounds: it is part of every checkpoint."""

import json

from sophon import Context, Risk, Services, ToolCall, tool
from sophon.testing import ScriptedModel
from sophon_middlewares.guards.audit import Audit
from sophon_middlewares.guards.guard import Judgement
from sophon_middlewares.guards.integrity import Integrity
from sophon_middlewares.guards.protection import Protection
from sophon_middlewares.guards.rate_limit import RateLimit
from sophon_middlewares.guards.snapshot import Snapshot
from tests.middlewares.guards.conftest import GuardedTurn
from tests.middlewares.guards.test_guard import Guard


@tool(risk=Risk.MEDIUM)
async def look(name: str, path: str) -> str:
    """Look."""
    return f"seen {name}"


async def escalate_all(ctx: Context, call: ToolCall) -> Judgement | None:
    return Judgement("escalate", "odd", "it is odd")


SMALL = {"Guards": {"Snapshot": {"MaxFileBytes": 1}}}
"""Each call is escalated because its file is too large for a snapshot."""


async def kept_bytes(turn: GuardedTurn, rounds: int) -> int:
    script = [[ToolCall(f"c{number}", "look", {"name": str(number), "path": "notes.txt"})] for number in range(rounds)]
    services = Services(
        folder=turn.folder, models=ScriptedModel([*script, "done"]), tools=[look], approvals=turn.gate, settings=SMALL
    )
    ctx = services.turn("hi")
    await turn.chain(Audit(), RateLimit(), Integrity(), Protection(), Snapshot(), Guard(escalate_all)).run(ctx)
    assert len(turn.gate.asked) >= rounds
    kept = ctx.state()["extensions"]
    return sum(len(json.dumps(kept[name])) for name in kept if name != "agentic_loop.detector")


async def test_what_the_guards_keep_does_not_grow_with_the_rounds(turn: GuardedTurn) -> None:
    assert await kept_bytes(turn, 40) - await kept_bytes(turn, 3) < 50
