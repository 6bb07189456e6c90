"""Host processes of a chaos run, started again whenever they have ended, and the lines that they tell."""

import asyncio
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.fork_server import ForkedProcess

SCRIPT = Path(__file__).with_name("killable_worker.py")
STOP_SECONDS = 30.0
ERRORS_FILE = "errors.txt"


class Lines:
    """Lines that all processes have told, counted by their first word, for those who wait for some progress."""

    def __init__(self) -> None:
        self.count = 0
        self.kinds: Counter[str] = Counter()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()

    def add(self, line: str) -> None:
        """Count a line; called by any thread."""
        with suppress(RuntimeError):  # the loop has ended, and the run with it
            self._loop.call_soon_threadsafe(self._count, line.partition(" ")[0])

    async def until(self, count: int) -> None:
        """Wait for so many lines in all."""
        while self.count < count:
            self._news.clear()
            await self._news.wait()

    async def until_told(self, kind: str) -> None:
        """Wait for the first line of a kind."""
        while not self.kinds[kind]:
            self._news.clear()
            await self._news.wait()

    def _count(self, kind: str) -> None:
        self.count += 1
        self.kinds[kind] += 1
        self._news.set()


class HostProcess:
    """One host, which sends the messages of some sessions in their order. `order` is the argument of its program.

    A message that was not acknowledged when the host was killed is sent again, with the same external id.
    """

    def __init__(self, order: Mapping[str, object], sessions: Sequence[str], folder: Path, lines: Lines) -> None:
        self._order, self._folder, self._lines = order, folder, lines
        self._first = dict.fromkeys(sessions, 0)
        self._is_stopping = False
        self.starts = 0
        self._start()

    def send_signal(self, number: int) -> None:
        """Send a signal, if it lives."""
        if self._process.poll() is None:  # or its number is another process's
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def keep_running(self) -> None:
        """Start it again if it has ended."""
        if not self._is_stopping and self._process.poll() is not None:
            self._reader.join()
            self._start()

    def stop(self) -> int:
        """End it gracefully; return its exit code."""
        self._is_stopping = True
        self.send_signal(signal.SIGCONT)
        self.send_signal(signal.SIGTERM)
        code = self._process.wait(STOP_SECONDS)
        self._reader.join()
        return code

    def kill(self) -> None:
        """End it, whatever it does."""
        self._is_stopping = True
        self.send_signal(signal.SIGKILL)
        self._process.wait(STOP_SECONDS)
        self._reader.join()

    def _start(self) -> None:
        self.starts += 1
        order = json.dumps({**self._order, "first": self._first})
        self._process = ForkedProcess([order], self._folder, os.environ, script=SCRIPT)
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: ForkedProcess) -> None:
        errors = threading.Thread(target=self._keep_errors, args=(process,), daemon=True)
        errors.start()
        with process.stdout:
            for line in process.stdout:
                match line.split():
                    case ["accepted", session, number]:
                        self._first[session] = int(number) + 1
                    case _:
                        pass
                self._lines.add(line.strip())
        errors.join()

    def _keep_errors(self, process: ForkedProcess) -> None:
        with (self._folder / ERRORS_FILE).open("a") as file, process.stderr:
            for line in process.stderr:
                file.write(line)
