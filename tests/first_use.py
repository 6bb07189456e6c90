"""What a process does only once: validators and queries are compiled, templates and caches are filled."""

import asyncio
import json
import tempfile
from pathlib import Path

from sophon.security.redaction.known_secrets import KNOWN_SECRETS
from sophon.services import Services
from sophon.settings import load_settings
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.programs.chat.chat_session import TurnChoices
from sophon_hosting.programs.chat.remote_turn import RemoteTurnClient
from sophon_hosting.store.factory import host_store_from_url


def use_host_once() -> None:
    """Run a host in this process for one turn of a client.

    No command is run for it: a command changes the process itself (its protection, its allocator, its log).
    """
    known = KNOWN_SECRETS.values
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_run_turn(Path(folder)))
    KNOWN_SECRETS.restore(known)


async def _run_turn(folder: Path) -> None:
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": {"Providers": [{"Id": "own", "Type": "offline"}]}}))
    settings = load_settings(folder=folder, environment={})
    services = Services.from_settings(settings, environment={}, folder=folder, make_store=host_store_from_url)
    server = HostServer(services, {})
    address = bind_address("127.0.0.1", 0)
    await server.start(address)
    try:
        gate: TerminalApprovalGate = None  # type: ignore[assignment] # nothing is asked
        client = RemoteTurnClient(address.url, None, gate, lambda event: None, lambda line: None)
        response = await client.run_turn("What is 6 * 7?", TurnChoices(session="s"))
        assert "42" in response.text, response
    finally:
        await server.shutdown(0)
