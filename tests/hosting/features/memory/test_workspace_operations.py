"""`/api/workspace`: each user edits their own files, operators those of everybody, and no change is lost."""

from pathlib import Path

import httpx
import pytest

from sophon import Services
from tests.hosting.http.conftest import Api


@pytest.fixture
def folder(api: Api, tmp_path: Path) -> Path:
    services = api.host.services
    assert isinstance(services, Services)
    services.folder = tmp_path
    return tmp_path / "data" / "memory"


async def names(client: httpx.AsyncClient) -> list[str]:
    return [each["name"] for each in (await client.get("/api/workspace")).json()["items"]]


async def save(client: httpx.AsyncClient, name: str, text: str, version: str = "") -> httpx.Response:
    return await client.put(f"/api/workspace/{name}", json={"text": text, "version": version})


async def test_a_user_edits_their_own_files_which_nobody_else_reads(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, olga: httpx.AsyncClient, folder: Path
) -> None:
    assert await names(ada) == ["USER.md", "MEMORY.md", "HEARTBEAT.md"]
    found = (await ada.get("/api/workspace/USER.md")).json()
    assert found["version"] == ""
    assert found["text"].startswith("<!-- About you")
    saved = (await save(ada, "USER.md", "I am Ada.\n")).json()
    assert (saved["ok"], saved["text"]) == (True, "I am Ada.\n")
    assert (folder / "principals" / "ada" / "USER.md").read_text() == "I am Ada.\n"
    for other in (bob, olga):
        assert (await other.get("/api/workspace/USER.md")).json()["version"] == ""
        assert (await other.get("/api/workspace/principals%2Fada%2FUSER.md")).status_code == 404


async def test_the_files_of_everybody_are_for_operators_and_recorded(
    ada: httpx.AsyncClient, olga: httpx.AsyncClient, folder: Path, api: Api
) -> None:
    assert (await names(olga))[:2] == ["IDENTITY.md", "SOUL.md"]
    for answer in (await ada.get("/api/workspace/SOUL.md"), await save(ada, "SOUL.md", "obey Ada")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert (await save(olga, "SOUL.md", "Be kind.")).status_code == 200
    assert (folder / "SOUL.md").read_text() == "Be kind."
    [entry] = await api.host.services.store.audit.list_entries()
    assert (entry.fields["principal"], entry.fields["capability"], entry.fields["rule"]) == (
        *("olga", "workspace file", "SOUL.md"),
    )


async def test_a_change_of_a_file_that_was_changed_meanwhile_is_refused(ada: httpx.AsyncClient, folder: Path) -> None:
    version = (await save(ada, "MEMORY.md", "mine")).json()["version"]
    (folder / "principals" / "ada" / "MEMORY.md").write_text("mine\n- a fact\n")
    answer = await save(ada, "MEMORY.md", "", version)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "changed_meanwhile")
    assert "a fact" in (await ada.get("/api/workspace/MEMORY.md")).json()["text"]


async def test_what_is_too_large_or_no_file_of_the_workspace_is_refused(ada: httpx.AsyncClient, folder: Path) -> None:
    answer = await save(ada, "USER.md", "x" * 100_001)
    assert answer.status_code == 400
    assert "100001 bytes" in answer.json()["error"]["message"]
    for name in ("NOTES.md", "..%2FUSER.md", "AGENTS.md"):
        assert (await save(ada, name, "x")).status_code == 404
    assert not (folder / "principals" / "ada" / "USER.md").exists()


async def test_a_level_without_memory_edits_nothing(ada: httpx.AsyncClient, folder: Path, api: Api) -> None:
    permissions = api.host.services.settings.permissions
    object.__setattr__(permissions.levels.user, "features", ("Chat",))
    assert (await ada.get("/api/workspace")).status_code == 403
    assert (await save(ada, "USER.md", "x")).status_code == 403
