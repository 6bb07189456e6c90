"""`sophon init` on a terminal: it asks for a provider, a key and a model, and shows the key nowhere."""

import asyncio
import os
import pty
import sys
from pathlib import Path

from sophon.settings.loader import load_settings
from tests.hosting.features.settings.conftest import KEY, Provider, provider

__all__ = ["provider"]


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        hidden = {name for name in os.environ if name.endswith("_API_KEY")}
        environment = {name: each for name, each in os.environ.items() if name not in hidden}
        self.output, self._seen = "", 0
        process, self._terminal = pty.fork()
        if process == 0:
            os.chdir(folder)
            command = [sys.executable, "-m", "sophon_hosting.cli", "init", *arguments]
            os.execve(sys.executable, command, {**environment, "OLLAMA_HOST": "127.0.0.1:1"})
        self._process = process

    def until(self, text: str) -> None:
        """Read until the command has written a text."""
        while (found := self.output.find(text, self._seen)) < 0:
            try:
                read = os.read(self._terminal, 4096)
            except OSError:  # the end, on Linux
                read = b""
            assert read, f"{text!r} is not in {self.output!r}"
            self.output += read.decode()
        self._seen = found + len(text)

    def say(self, text: str) -> None:
        """Type a line."""
        os.write(self._terminal, f"{text}\n".encode())

    def end(self) -> int:
        """Read the rest and return the exit code."""
        try:
            while read := os.read(self._terminal, 4096):
                self.output += read.decode()
        except OSError:
            pass
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])


def converse(folder: Path, url: str) -> Terminal:
    """Answer all questions, with a wrong key first."""
    terminal = Terminal(folder)
    terminal.until("Provider (empty: not now): ")
    terminal.say("openai_compatible")
    terminal.until("/v1: ")
    terminal.say(url)
    terminal.until("shown): ")
    terminal.say("sk-a-wrong-key-000000")
    terminal.until("does not accept this key")
    terminal.until("shown): ")
    terminal.say(KEY)
    terminal.until("Model, by number or name (empty: not now): ")
    terminal.say("2")
    terminal.until("answers, and is saved")
    return terminal


async def test_the_dialogue_saves_what_was_tried(provider: Provider, tmp_path: Path) -> None:
    terminal = await asyncio.to_thread(converse, tmp_path, provider.url)
    assert await asyncio.to_thread(terminal.end) == 0

    assert KEY not in terminal.output
    assert "sophon doctor" in terminal.output
    (saved,) = load_settings(folder=tmp_path, environment={}).providers
    assert (saved.models, saved.keys[0].resolve({})) == (("my-own",), KEY)


def test_an_empty_answer_leaves_everything_as_without_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.until("Provider (empty: not now): ")
    terminal.say("")
    assert terminal.end() == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["appsettings.json", "data"]


def test_without_input_nothing_is_asked(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "--no-input")
    assert terminal.end() == 0
    assert "Provider" not in terminal.output


def test_an_unknown_provider_is_asked_for_again_three_times_in_all(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    for _ in range(3):
        terminal.until("Provider (empty: not now): ")
        terminal.say("opnai")
        terminal.until("there is no provider 'opnai'; did you mean openai?")
    assert terminal.end() != 0
    assert "`sophon init` asks again" in terminal.output
    assert "Traceback" not in terminal.output
