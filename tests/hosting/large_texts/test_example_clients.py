"""The example clients of the documentation get a large answer whole: they fetch what an event refers to."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hosting.serving.conftest import NODE, node
from tests.long_texts import MEGABYTE, text_of
from tests.programs import PATIENCE_SECONDS

__all__ = ["node"]

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


async def run_client(*command: str, code: int = 0, **environment: str) -> str:
    """Run a client, without an input, to its end; return what it wrote."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **environment},
    )
    async with asyncio.timeout(2 * PATIENCE_SECONDS):
        out, _ = await process.communicate()
    assert process.returncode == code, out[-2000:].decode()
    return out.decode()


@pytest.mark.parametrize("verb", ["write", "half"])
async def test_the_python_client_prints_3_mb_whole(serve: Any, verb: str) -> None:
    served = await serve()
    served.model.gate.set()
    text = f"{verb} {3 * MEGABYTE}"
    out = await run_client(sys.executable, str(EXAMPLES / "client.py"), served.url, "token-of-ada", text)
    assert out.endswith(f"\n{text_of(3 * MEGABYTE)}\n")


@pytest.mark.parametrize("verb", ["write", "half"])
async def test_the_javascript_client_prints_3_mb_whole(serve: Any, node: str, verb: str) -> None:
    served = await serve()
    served.model.gate.set()
    text = f"{verb} {3 * MEGABYTE}"
    out = await run_client(
        node, str(EXAMPLES / "client.js"), served.url, "token-of-ada", text, NODE_PATH=str(NODE / "node_modules")
    )
    assert out.endswith(f"\n{text_of(3 * MEGABYTE)}\n")


async def test_the_python_client_ends_with_one_line_for_a_wrong_token(serve: Any) -> None:
    served = await serve()
    out = await run_client(sys.executable, str(EXAMPLES / "client.py"), served.url, "wrong", "hi", code=1)
    assert out.startswith(f"{served.url}: ")
    assert out.count("\n") == 1
