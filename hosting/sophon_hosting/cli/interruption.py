"""Termination signals of the chat: SIGTERM and SIGHUP cancel the running turn, which is recorded, and end the program.

Ctrl-C (SIGINT) cancels the running turn only.
"""

import contextlib
import signal
from collections.abc import Generator
from dataclasses import dataclass
from types import FrameType

import typer

from sophon_hosting.cli.errors import TERMINATED

ENDING = ("SIGTERM", "SIGHUP")


@dataclass(slots=True)
class Ending:
    """Flag: a signal has asked the program to exit."""

    asked: bool = False


@contextlib.contextmanager
def gentle_end() -> Generator[Ending]:
    """Handle SIGTERM and SIGHUP inside the context as Ctrl-C, and exit with code 143 afterwards.

    asyncio turns a SIGINT during a turn into a cancellation of the turn; at the prompt it raises KeyboardInterrupt at
    once. Raises typer.Exit.
    """
    ending = Ending()

    def handle_signal(number: int, frame: FrameType | None) -> None:
        ending.asked = True
        signal.raise_signal(signal.SIGINT)

    numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in numbers}
    for number, handler in previous.items():
        if handler is signal.SIG_DFL:  # an ignored signal, as under nohup, stays ignored
            signal.signal(number, handle_signal)
    try:
        yield ending
    except KeyboardInterrupt:
        if ending.asked:
            raise typer.Exit(TERMINATED) from None
        raise
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
