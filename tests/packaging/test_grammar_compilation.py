"""The grammars of a host that decides by rules are compiled when it is ready, and those of another not at all."""

from pathlib import Path

import pytest

from tests.packaging.test_imports import modules_loaded_by

HOST = """
import asyncio
from pathlib import Path
from sophon.security.linear_patterns import compile_linear
from sophon.security import redact
from sophon.services import Services
from sophon.settings import Settings
from sophon_middlewares.chains.chain_settings import complete_for_chain
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.factory import host_store_from_url

def count():
    return compile_linear.cache_info().misses

async def main():
    settings = complete_for_chain(Settings.from_mapping({{"Chain": {{"Name": {chain!r}}}}}))
    folder = Path({folder!r})
    services = Services.from_settings(settings, environment={{}}, folder=folder, make_store=host_store_from_url)
    server = HostServer(services, {{}})
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await server.start(address)
        await server._warm_up_task
        redact("Bearer abcdefghijklmnopqrstuvwxyz password=hunter2")  # has patterns of its own
        before = count()
        await server.host.chain.run(server.services.turn("Good morning to whoever reads this", session_id="s"))
        assert (count() == before) is {compiles}, (count(), before)
        await server.shutdown(1)

asyncio.run(main())
"""


@pytest.mark.parametrize(("chain", "compiles"), [("wasp", True), ("twelve", False)])
def test_no_message_waits_for_the_compilation_of_grammars(tmp_path: Path, chain: str, compiles: bool) -> None:
    loaded = modules_loaded_by(HOST.format(chain=chain, compiles=compiles, folder=str(tmp_path)))
    assert ("sophon.decisions.grammar_compilation" in loaded) is compiles
