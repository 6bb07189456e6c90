"""A turn over an adapter of our own loads no litellm; one process each, because others of this run have loaded it."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sophon.models.dialects import DIALECTS

TURN = """
import asyncio, sys
from pathlib import Path
from sophon import Services
from sophon.settings import Settings
from sophon_middlewares.chains import twelve

async def main(kind, url, folder):
    provider = {"Id": "p", "Type": kind, "Models": ["m"], "Keys": ["k"], "BaseUrl": url}
    settings = {"Providers": [provider], "Planning": {"Mode": "Never"}}
    services = Services.from_settings(Settings.from_mapping(settings), folder=Path(sys.argv[3]))
    async with services:
        response = await twelve(services).run(services.turn("Hello", stream=True))
    assert response.text == "Good day", response
    print([name for name in sys.modules if name.partition(".")[0] == "litellm"])

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("kind", ["openai", "anthropic", "ollama"])
async def test_a_turn_loads_no_litellm(kind: str, server: Any, kit: Any, tmp_path: Path) -> None:
    server.dialect = DIALECTS[kind]()
    server.streams("Good", " day", kit.stop, kit.usage)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", TURN, kind, server.url, str(tmp_path), stdout=-1, stderr=-1, cwd=tmp_path
    )
    out, err = await process.communicate()
    assert (out.decode().strip(), process.returncode) == ("[]", 0), err.decode()
