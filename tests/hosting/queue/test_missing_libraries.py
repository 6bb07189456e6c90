"""Without the client library of a queue, each command says in a line what is to be installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = "import sys; sys.modules[{library!r}] = None; from sophon_hosting.cli import main; main()"
BACKENDS = {
    "Redis": ("redis", "redis", "redis://127.0.0.1:1/0"),
    "RabbitMq": ("aio_pika", "rabbitmq", "amqp://127.0.0.1:1/"),
    "Postgres": ("psycopg", "postgres", "postgresql://127.0.0.1:1/none"),
}
"""Library, extra and a URL of each backend."""


def run(backend: str, folder: Path, *command: str) -> tuple[int, str]:
    """Return the exit code and the output of a command where the backend's library cannot be imported."""
    library, _, url = BACKENDS[backend]
    settings = folder / "settings.json"
    group = {"Store": {"Url": "postgresql://127.0.0.1:1/store"}, "Queue": {"Backend": backend, "Url": url}}
    settings.write_text(json.dumps({"Sophon": group}))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(library=library), "--settings", str(settings), *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("command", [("serve",), ("config", "validate"), ("doctor",)], ids=" ".join)
def test_a_missing_library_is_told_in_a_line_with_what_installs_it(backend, command, tmp_path) -> None:
    library, extra, url = BACKENDS[backend]
    code, output = run(backend, tmp_path, *command)
    assert code != 0
    lines = [line for line in output.splitlines() if f'pip install "sophon-agents[{extra}]"' in line]
    assert lines, output
    assert any(library in line and "not installed" in line for line in lines)
    assert "Traceback" not in output
    if backend != "Postgres":  # which a host asks as its store, too
        asked = f"{url} is not asked: {library} is not installed"
        named = f"Queue.Backend: {backend} needs {library}, which is not installed"
        assert output.count(asked if command == ("doctor",) else named) == 1
