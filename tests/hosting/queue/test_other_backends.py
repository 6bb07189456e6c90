"""The suite runs over a queue that is not part of Sophon: that of docs/queues.md, and one that breaks a promise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_suite(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    paths = [str(folder), *(str(ROOT / each) for each in (".", "middlewares", "hosting", "channels"))]
    tests = [f"tests/hosting/queue/{each}.py" for each in ("test_lanes", "test_capacity")]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests, "-k", f"[{name}"],
        cwd=ROOT,
        env=os.environ | {"SOPHON_TEST_QUEUES": "my_backend", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The program of the page, without its examples, as a module."""
    *_, queue, backend = BLOCK.findall((ROOT / "docs" / "queues.md").read_text())
    source = queue.split("queue = build")[0] + backend.split("assert Counting")[0]
    (tmp_path / "my_backend.py").write_text(source)
    return tmp_path


def test_the_queue_of_the_page_passes_the_suite(written: Path) -> None:
    result = run_suite(written, "counting")
    assert result.returncode == 0, result.stdout
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 30


def test_a_queue_that_breaks_a_promise_does_not(written: Path) -> None:
    module = written / "my_backend.py"
    module.write_text(module.read_text().replace("put(entry, force=force)", "put(entry, force=True)"))
    result = run_suite(written, "counting")
    assert result.returncode == 1
    assert "DID NOT RAISE QueueFull" in result.stdout.replace(
        "<class 'sophon_hosting.queue.errors.QueueFull'>", "QueueFull"
    )
