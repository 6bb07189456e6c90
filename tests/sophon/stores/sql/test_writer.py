"""The writer thread: while it waits, it holds nothing of what it has written."""

import asyncio
import weakref

from sqlalchemy import Connection, create_engine

from sophon.stores.sql.writer import ThreadConnections, WriterThread


class Text(str):
    """A text that can be referred to weakly."""


async def test_a_writer_that_waits_holds_neither_the_work_nor_its_result() -> None:
    engine = create_engine("sqlite://")
    writer = WriterThread(ThreadConnections(engine), engine.dispose)

    def write() -> tuple[asyncio.Future[Text], weakref.ref[Text]]:
        text = Text("a long answer")

        def work(_connection: Connection) -> Text:
            return text

        return writer.submit(work), weakref.ref(text)

    future, reference = write()
    await future
    del future
    async with asyncio.timeout(30):
        while reference() is not None:  # the thread is on its way back to its queue
            await asyncio.sleep(0)
    await writer.close()
