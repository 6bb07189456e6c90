"""The pool of connections: a long body does not hold up the event loop."""

import asyncio
from typing import Any

from sophon.models.providers.http.pool import WRITE_BYTES, _Body


class Writer:
    """Notes what is written, and what else runs meanwhile."""

    def __init__(self) -> None:
        self.order: list[int | str] = []

    async def write(self, piece: memoryview) -> None:
        self.order.append(len(piece))
        asyncio.get_running_loop().call_soon(self.order.append, "another callback")


async def test_other_callbacks_run_between_the_pieces_of_a_long_body() -> None:
    writer: Any = Writer()
    await _Body(b"x" * (2 * WRITE_BYTES + 1)).write(writer)
    assert writer.order == [WRITE_BYTES, "another callback", WRITE_BYTES, "another callback", 1, "another callback"]
