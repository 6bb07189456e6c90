"""A host whose disk fills up while it works, on a small file system of its own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

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
