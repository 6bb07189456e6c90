"""Sandboxed servers: what their programs see, and that without a sandbox they do not run."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sophon import Services
from sophon.errors import SettingsError
from sophon.processes import sandbox_probe
from sophon_hosting.features.mcp.client.address_resolution import FOLDER, build_server_policy
from sophon_hosting.features.mcp.settings import McpSettings
from tests.bubblewrap import require_sandbox
from tests.hosting.features.mcp.client.sites import SERVER, bad, call, running

pytestmark = pytest.mark.anyio


def confined(**more: Any) -> dict[str, Any]:
    seen = {SERVER, sys.prefix, sys.base_prefix}
    return bad(Sandbox="Offline", Readable=sorted(seen), **more)


async def test_a_sandboxed_server_works_and_sees_only_what_is_listed(tmp_path: Path) -> None:
    await require_sandbox()
    (tmp_path / "secret").write_text("hidden")
    async with running(confined(), folder=tmp_path) as site:
        assert site.status().state == "ready", site.status().error
        looks = await site.call(call("bad.look", text=str(tmp_path)), call("bad.look", text="/proc/net/dev"))
        assert json.loads(_plain(looks[0])) == [FOLDER]
        assert (tmp_path / FOLDER / "bad").is_dir()
        assert "lo" in looks[1]


async def test_a_folder_with_files_of_the_host_is_refused(tmp_path: Path) -> None:
    await require_sandbox()
    server = {**confined(), "Readable": [*confined()["Readable"], str(tmp_path)]}
    async with running(server, folder=tmp_path, Store={"Url": f"sqlite:///{tmp_path}/sophon.db"}) as site:
        assert site.status().state == "failed"
        assert "a file of the host" in site.status().error


async def test_without_bubblewrap_a_server_that_needs_a_sandbox_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_probe, "_PROBED", {})
    missing = {"Sandbox": {"Program": "/no/such/bwrap"}}
    async with running(confined(), bad("free"), Guards=missing) as site:
        assert site.status().state == "failed"
        assert "there is no sandbox: bubblewrap (/no/such/bwrap) is not installed" in site.status().error
        assert site.status("free").state == "ready"


def test_the_policy_has_the_network_only_if_the_settings_say_so(tmp_path: Path) -> None:
    for chosen, network in (("Offline", False), ("Network", True)):
        services = Services(settings={"Mcp": {"Servers": [bad(Sandbox=chosen, Readable=["a"], Writable=["/b"])]}})
        policy = build_server_policy(services.settings.section(McpSettings).servers[0], services.settings, tmp_path)
        assert policy.network is network
        assert policy.mounted == (tmp_path / FOLDER / "bad", Path("/b"), tmp_path / "a")


@pytest.mark.parametrize(
    "server",
    [
        {"Id": "a", "Url": "http://x.example", "Sandbox": "Offline"},
        {"Id": "a", "Command": "x", "Readable": ["/a"]},
        {"Id": "a", "Url": "http://x.example", "Writable": ["/a"]},
    ],
)
def test_settings_of_a_sandbox_that_would_not_hold_are_refused(server: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="only allowed with"):
        Services(settings={"Mcp": {"Servers": [server]}})


def _plain(fenced: str) -> str:
    return fenced.split("\n", 1)[1].rsplit("\n", 1)[0]
