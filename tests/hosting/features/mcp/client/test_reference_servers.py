"""The reference servers of the Model Context Protocol, as others install them: one from PyPI, one from npm."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosting.features.mcp.client.sites import call, running

pytestmark = pytest.mark.anyio

PACKAGE = Path(__file__).with_name("reference")
EVERYTHING = PACKAGE / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"


@pytest.fixture(scope="session")
def everything() -> list[str]:
    """The command of the server from npm, once it is installed. Without Node or npm its tests are skipped; where
    SOPHON_CI is set they fail.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        missing = "needs node and npm: the reference server of npm"
        pytest.fail(missing) if os.environ.get("SOPHON_CI") else pytest.skip(missing)
    with (PACKAGE / ".lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not EVERYTHING.exists() or EVERYTHING.stat().st_mtime < (PACKAGE / "package-lock.json").stat().st_mtime:
            subprocess.run([npm, "ci", "--silent"], cwd=PACKAGE, check=True, timeout=300)
            EVERYTHING.touch()
    return [node, str(EVERYTHING)]


async def test_the_server_of_the_time_answers() -> None:
    server = {"Id": "time", "Command": sys.executable, "Args": ["-m", "mcp_server_time", "--local-timezone", "UTC"]}
    async with running(server) as site:
        assert {"get_current_time", "convert_time"} <= set(site.states("time"))
        now, wrong, converted = await site.call(
            call("time.get_current_time", timezone="Europe/Madrid"),
            call("time.get_current_time", timezone="Nowhere"),
            call("time.convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"),
        )
    assert "Europe/Madrid" in now
    assert now.startswith("<external-")
    assert "Nowhere" in wrong
    assert "21:00" in converted


async def test_the_server_of_everything_offers_tools_resources_and_prompts(everything: list[str]) -> None:
    server = {"Id": "all", "Command": everything[0], "Args": everything[1:]}
    async with running(server) as site:
        assert {"echo", "get-sum"} <= set(site.states("all"))
        echoed, total, resources, prompts, missing = await site.call(
            call("all.echo", message="hello there"),
            call("all.get-sum", a=2, b=40),
            call("all.resources.list"),
            call("all.prompts.list"),
            call("all.echo"),
        )
    assert "hello there" in echoed
    assert "42" in total
    assert "://" in resources
    assert "(" in prompts
    assert "message" in missing
