"""A Redis of a test's own, which it may stop, start again and pause; and the one that all tests share."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

LIMIT_SECONDS = 30


@cache
def find_shared_server() -> str | None:
    """Return the URL of SOPHON_TEST_REDIS, or of a server on the standard port; None if none answers."""
    url = os.environ.get("SOPHON_TEST_REDIS") or "redis://127.0.0.1:6379/0"
    parts = urlsplit(url)
    return url if answers(parts.hostname or "127.0.0.1", parts.port or 6379) else None


def answers(host: str, port: int) -> bool:
    """Whether a Redis (or Valkey) answers there; one that wants a password does."""
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith((b"+PONG", b"-NOAUTH"))
    except OSError:
        return False


class RedisServer:
    """A server process in a folder of its own; what it held is lost when it stops, unless it `is_persistent`."""

    def __init__(self, program: str, folder: Path, *, is_persistent: bool = False) -> None:
        self._program, self._folder, self._is_persistent = program, folder, is_persistent
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """URL of its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        options += ["--appendonly", "yes", "--appendfsync", "always"] if self._is_persistent else ["--appendonly", "no"]
        self._process = subprocess.Popen(
            [self._program, *options, "--dir", str(self._folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        limit = time.monotonic() + LIMIT_SECONDS
        while not answers("127.0.0.1", self.port):
            if time.monotonic() > limit or self._process.poll() is not None:
                raise RuntimeError(f"{self._program} did not start on port {self.port}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Kill it, as a crash does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait(LIMIT_SECONDS)
            self._process = None

    def freeze(self) -> None:
        """Let it answer nothing, with its connections open, until `thaw`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)


def find_program() -> str | None:
    """Return the path of Redis or Valkey; None if neither is installed."""
    return shutil.which("redis-server") or shutil.which("valkey-server")


@contextmanager
def running_redis(program: str) -> Generator[RedisServer]:
    """Yield a server that runs; it is stopped and its folder deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="sophon-redis-"))
    server = RedisServer(program, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
