"""A host with few open files, and clients that hold connections."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack

import httpx

from tests.programs import Program, Serving

FILE_LIMIT = 256
HALF_BODY = (
    b"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
)


def serve_with_few_files(here: Program) -> Serving:
    """Start a host that may open `FILE_LIMIT` files."""
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -n {FILE_LIMIT} && exec "$0" -m sophon_hosting.cli serve --port 0', sys.executable],
        cwd=here.folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(("SOPHON", "OPENAI"))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    here.running.append(process)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("Sophon is at "), (line, process.communicate())
    return Serving(process, line.removeprefix("Sophon is at ").strip())


def test_373_idle_connections_at_256_files_shut_nobody_out_and_the_log_stays_small(program) -> None:
    host = serve_with_few_files(program())
    with ExitStack() as stack:
        for number in range(373):
            held = stack.enter_context(socket.create_connection(("127.0.0.1", host.port), timeout=30))
            if number % 2:
                held.sendall(HALF_BODY)
        with httpx.Client(base_url=host.url, trust_env=False, timeout=30) as client:
            receipt = client.post("/api/tasks", json={"content": "hello"})
            assert receipt.status_code == 202
            assert client.get("/readyz").json()["status"] == "ready"
            metrics = client.get("/metrics").text
    assert "sophon_connections 192.0" in metrics
    assert 'sophon_connections_refused_total{reason="replaced"}' in metrics
    assert 'reason="files"' not in metrics
    code, log = host.end(signal.SIGTERM)
    assert (code, len(log) < 10_000) == (0, True), log[-2000:]
