"""Programs of skills in the sandbox of the guards; where there is none, a person is asked about each call."""

import json
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall
from sophon.approvals import ApprovalRequest, Decision
from sophon.chain.placement import place
from sophon.clock import SystemClock
from sophon.skills import SkillCatalog
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards
from sophon_middlewares.skills.skills import Skills
from tests.middlewares.skills.test_custom_tools import has_sandbox

PROGRAM = """
import json, pathlib, socket, sys
json.load(sys.stdin)
try:
    found = pathlib.Path(SECRET).read_text()
except OSError as error:
    found = "hidden"
try:
    socket.create_connection(("127.0.0.1", PORT), 2)
    found += ", network"
except OSError:
    found += ", no network"
print(json.dumps({"success": True, "result": found}))
"""


class Turns:
    """Runs turns that call the program of a skill, and keeps what a person was asked."""

    def __init__(self, folder: Path, *, sandbox: dict[str, Any], network: bool = False, port: int = 9) -> None:
        secret = folder / "secret.txt"
        secret.write_text("s3cret")
        skill = folder / "skills" / "probe"
        skill.mkdir(parents=True)
        program = PROGRAM.replace("SECRET", json.dumps(str(secret))).replace("PORT", str(port))
        (skill / "main.py").write_text(program)
        manifest = {"name": "probe", "version": "1.0.0", "description": "Looks.", "runtime": "python"}
        tools = [{"name": "look", "description": "Look.", "riskLevel": "low"}]
        limits = {"sandbox": {"network": network}}
        (skill / "manifest.json").write_text(
            json.dumps({**manifest, **limits, "entrypoint": "main.py", "tools": tools})
        )
        self.asked: list[str] = []
        self.services = Services(
            models=FunctionModel(self.answer),
            approvals=self,
            clock=SystemClock(),  # a real process knows no virtual time
            folder=folder,
            skills=SkillCatalog([folder / "skills"]),
            settings={"Guards": {"Sandbox": sandbox}, "Tools": {"FilesRoot": str(folder / "files")}},
        )
        self.chain = place(
            place(twelve(self.services), [Skills()]), find_guards(self.services.settings.guards).values(), GUARD_ORDER
        )

    async def request(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request.tool)
        return Decision.approve()

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        calls = [ToolCall("c1", "load_skills", {"names": ["probe"]}), ToolCall("c2", "probe.look", {})]
        done = sum(each.role == "tool" for each in request.messages)
        return ModelResponse("", [calls[done]]) if done < len(calls) else "done"

    async def run(self) -> str:
        ctx = self.services.turn("look")
        await self.chain.run(ctx)
        return [each.content for each in ctx.messages if each.role == "tool"][-1]


async def test_a_program_sees_neither_the_hosts_files_nor_the_network_and_is_fenced(tmp_path: Path) -> None:
    if not await has_sandbox():
        pytest.skip("the sandbox cannot start here")
    turns = Turns(tmp_path, sandbox={"Enabled": True})
    result = await turns.run()
    assert "hidden, no network" in result
    assert result.startswith("<external-")
    assert turns.asked == []


async def test_without_a_sandbox_a_person_is_asked_although_the_risk_is_low(tmp_path: Path) -> None:
    turns = Turns(tmp_path, sandbox={"Enabled": True, "Program": "no-such-sandbox"})
    assert "s3cret" in await turns.run()
    assert turns.asked == ["probe.look"]


async def test_without_the_guard_the_program_has_what_the_host_has(tmp_path: Path) -> None:
    turns = Turns(tmp_path, sandbox={"Enabled": False})
    assert "s3cret" in await turns.run()
    assert turns.asked == []
