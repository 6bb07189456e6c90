"""What a command can read of the host that runs it, in a host of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sophon import Services
from sophon_hosting.programs.doctor.chain_and_tool_checks import check_commands
from sophon_hosting.programs.process_hardening import protect_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")

ROOT = Path(__file__).parents[3]
HOST = """
import asyncio, sys
from pathlib import Path
from sophon import Services
from sophon_hosting.programs.process_hardening import protect_process

services = Services(folder=Path(sys.argv[2]), settings={"Tools": {"Disabled": sys.argv[3:]}})
if sys.argv[1] == "protected":
    protect_process(services)
from sophon.builtin_tools.shell import system_execute
command = "cat /proc/$PPID/environ | tr '\\\\0' '\\\\n'; head -c 1 /proc/$PPID/mem"
print(asyncio.run(system_execute.invoke({"command": command}, services.turn("x"))))
"""


def run_host(folder: Path, *arguments: str) -> str:
    """What a command of a host reads of it. A host of root runs without the right to trace every process."""
    rights = "-sys_ptrace,-sys_admin,-perfmon"
    without_tracing = [f"--bounding-set={rights}", f"--inh-caps={rights}"]
    prefix = ["setpriv", *without_tracing] if os.geteuid() == 0 else []
    if prefix and shutil.which("setpriv") is None:
        pytest.skip("root may read every process, and there is no setpriv to drop that right")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("", "middlewares", "hosting", "channels")),
        "OPENAI_API_KEY": "canary",
    }
    done = subprocess.run(
        [*prefix, sys.executable, "-c", HOST, arguments[0], str(folder), *arguments[1:]],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_a_command_cannot_read_the_environment_and_the_memory_of_its_host(tmp_path: Path) -> None:
    read = run_host(tmp_path, "protected")
    assert "canary" not in read
    assert read.count("Permission denied") + read.count("Operation not permitted") >= 2, read


def test_without_the_protection_it_could(tmp_path: Path) -> None:
    assert "OPENAI_API_KEY=canary" in run_host(tmp_path, "open")


def test_a_host_without_the_command_tool_is_left_as_it_is(tmp_path: Path) -> None:
    assert "OPENAI_API_KEY=canary" in run_host(tmp_path, "protected", "system.execute")


def test_the_start_names_listed_variables_that_commands_do_not_receive() -> None:
    tools = {"CommandEnvironment": ["OPENAI_API_KEY", "JAVA_HOME"]}
    services = Services(settings={"Tools": {**tools, "Disabled": ["system.execute"]}})
    assert protect_process(services) == []
    finding, *_ = check_commands(Services(settings={"Tools": tools}))
    assert finding.grade == "warning"
    assert "OPENAI_API_KEY may hold a secret" in finding.text


def test_doctor_says_what_a_command_can_reach() -> None:
    rights = next(each for each in check_commands(Services()) if "rights of this account" in each.text)
    assert "secret files" in rights.text
    assert "container" in rights.fix
    assert [each.text for each in check_commands(Services(settings={"Tools": {"Disabled": ["system.execute"]}}))] == [
        "system.execute is disabled"
    ]
