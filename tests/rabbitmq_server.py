"""A RabbitMQ of a test's own, which it may stop and start again; and the one that all tests share."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

LIMIT_SECONDS = 60

DEBIAN_PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server"
"""The program without Debian's wrapper, which changes the user and fixes the folders."""


@cache
def find_shared_server() -> str | None:
    """Return the URL of SOPHON_TEST_RABBITMQ, or of a server on the standard port; None if none answers."""
    url = os.environ.get("SOPHON_TEST_RABBITMQ") or "amqp://guest:guest@127.0.0.1:5672/"
    parts = urlsplit(url)
    return url if answers(parts.hostname or "127.0.0.1", parts.port or 5672) else None


def answers(host: str, port: int) -> bool:
    """Whether a server of AMQP 0-9-1 answers there: it begins to talk when a client has said its protocol."""
    try:
        with socket.create_connection((host, port), timeout=5) as connection:
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return connection.recv(1) == b"\x01"
    except OSError:
        return False


def find_program() -> str | None:
    """Return the path of rabbitmq-server; None if it is not installed."""
    return DEBIAN_PROGRAM if Path(DEBIAN_PROGRAM).exists() else shutil.which("rabbitmq-server")


class RabbitMqServer:
    """A node with a name, a port and a folder of its own, without plug-ins; what it holds outlives a stop.

    `options` are lines of its rabbitmq.conf, `advanced` terms of its advanced.config.
    """

    def __init__(self, program: str, options: str = "", advanced: str = "[].") -> None:
        self._program = program
        self._folder = Path(tempfile.mkdtemp(prefix="sophon-rabbitmq-"))
        with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as other:
            self.port: int = free.getsockname()[1]
            self._distribution_port: int = other.getsockname()[1]
        (self._folder / "rabbitmq.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{self.port}\n{options}\n")
        (self._folder / "advanced.config").write_text(advanced + "\n")
        (self._folder / "plugins").write_text("[].\n")
        (self._folder / "env.conf").write_text("")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """URL of its first virtual host."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    @property
    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._process is not None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [self._program], env=self._environment, stdout=output, stderr=output, start_new_session=True
            )
        limit = time.monotonic() + LIMIT_SECONDS
        while not answers("127.0.0.1", self.port):
            if time.monotonic() > limit or self._process.poll() is not None:
                raise RuntimeError(f"{self._program} did not start: {(self._folder / 'output').read_text()[-2000:]}")
            time.sleep(0.05)

    def list_as_json(self, *command: str) -> list[dict[str, Any]]:
        """Return what a listing command of rabbitmqctl prints, for example `list_queues name arguments`."""
        program = Path(self._program).with_name("rabbitmqctl")
        arguments = [str(program), "-q", "-n", self._environment["RABBITMQ_NODENAME"], *command, "--formatter", "json"]
        answer = subprocess.run(arguments, env=self._environment, capture_output=True, check=True)
        return cast("list[dict[str, Any]]", json.loads(answer.stdout))

    @property
    def _environment(self) -> dict[str, str]:
        folder = self._folder
        return os.environ | {
            "HOME": str(folder),  # of the Erlang cookie
            "RABBITMQ_NODENAME": f"sophon{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "env.conf"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_FEATURE_FLAGS_FILE": str(folder / "feature_flags"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "config"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
        }

    def stop(self) -> None:
        """Kill it with all its processes, as a crash does."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(LIMIT_SECONDS)
            self._process = None

    def shut_down(self) -> None:
        """Let it write all that it has, and end."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(LIMIT_SECONDS)
            self._process = None

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
