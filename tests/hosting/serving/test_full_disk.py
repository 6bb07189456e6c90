"""A host whose disk fills up while it works, on a small file system of its own."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sophon_hosting.store.factory import host_store_from_url
from tests.programs import PATIENCE_SECONDS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The folder of the store, with 40 MB."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m,mode=700", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65536))
        except OSError:
            return


def send(url: str, text: str, session: str) -> httpx.Response:
    body = {"content": text, "session_id": session}
    return httpx.post(f"{url}/api/tasks", json=body, trust_env=False, timeout=PATIENCE_SECONDS)


async def test_a_full_disk_refuses_messages_with_the_reason_and_what_was_accepted_ends(program, small_disk) -> None:
    here = program()
    host = here.serve()
    task = send(host.url, "wait", "s").json()["task_id"]
    await here.appears("waiting")
    fill(small_disk)
    here.until(lambda: host.get("/readyz")["status"] == "not ready")
    refused = [send(host.url, "x" * 3000, f"s{number}") for number in range(20)]
    assert {(each.status_code, each.headers["Retry-After"]) for each in refused} == {(503, "5")}
    assert "the disk of the store is" in refused[0].json()["error"]["message"]
    assert str(small_disk) not in refused[0].text
    assert host.get("/healthz")["status"] == "ok"
    chat = here.run("chat", "--url", host.url, "hello")
    assert (chat[0], chat[2].count("\n"), "the disk of the store is" in chat[2]) == (1, 1, True)
    (here.folder / "go").touch()
    (small_disk / "filler").unlink()
    here.until(lambda: host.get(f"/api/tasks/{task}")["status"] == "completed")
    here.until(lambda: host.get("/readyz")["status"] == "ready")
    assert send(host.url, "hello", "t").status_code < 300
    code, log = host.end(15)
    assert (code, "Traceback" in log) == (0, False)
    assert log.count("is unavailable") in (1, 2)  # nearly full, then full


async def test_killed_while_the_disk_is_full_every_accepted_message_has_one_outcome(program, small_disk) -> None:
    here = program()
    host = here.serve()
    tasks = [send(host.url, "wait", f"s{number}").json()["task_id"] for number in range(6)]
    await here.appears("waiting")
    fill(small_disk)
    here.until(lambda: host.get("/readyz")["status"] == "not ready")
    assert send(host.url, "too late", "s9").status_code == 503
    (here.folder / "go").touch()
    assert host.end(signal.SIGKILL)[0] == -signal.SIGKILL
    (small_disk / "filler").unlink()
    again = here.serve()
    here.until(lambda: {again.get(f"/api/tasks/{task}")["status"] for task in tasks} == {"completed"})
    assert again.end(signal.SIGTERM)[0] == 0
    store = host_store_from_url("sqlite:///data/sophon.db", folder=here.folder)
    await store.open()
    assert sorted(run.id for run in await store.runs.list()) == sorted(tasks)
    for number, task in enumerate(tasks):
        told = await store.events.list_after(f"s{number}", 0)
        assert [event.name for event in told if event.task_id == task].count("task_completed") == 1
        said = (await store.sessions.load_history(f"s{number}")).messages
        assert [message.content for message in said] == ["wait", "WAIT"]
    await store.close()
