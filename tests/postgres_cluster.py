"""A PostgreSQL of a test's own, which it may stop and start."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def find_programs() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


class Cluster:
    """A database cluster in a folder; `url` is the URL of its database `postgres`."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder = programs, folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"postgresql://sophon@127.0.0.1:{self._port}/postgres"
        self._run("initdb", "-U", "sophon", "--auth=trust", "--no-sync")

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        settings = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", f"{settings} -c fsync=off", "start")

    def stop(self) -> None:
        """Stop the server at once, as a crash does: open transactions are lost, connections break."""
        self._run("pg_ctl", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        # PostgreSQL refuses to run as root.
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*user, str(self._programs / program), "-D", str(self._folder / "data"), *arguments]
        subprocess.run(command, check=True, cwd=self._folder, stdout=subprocess.DEVNULL, timeout=60)


@contextmanager
def running_cluster(programs: Path) -> Generator[Cluster]:
    """Yield a cluster that runs; it is stopped and deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="sophon-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    cluster = Cluster(programs, folder)
    cluster.start()
    try:
        yield cluster
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            cluster.stop()
        shutil.rmtree(folder)
