"""Termination signals of the chat: SIGTERM and SIGHUP cancel the running turn, which is recorded, and end the program.

Ctrl-C (SIGINT) cancels the running turn only.
"""

import contextlib
import signal
from collections.abc import Generator
from types import FrameType

import typer

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.cli.error_reporting import EXIT_TERMINATED

TERMINATION_SIGNALS = ("SIGTERM", "SIGHUP")


@dataclass(slots=True)
class ExitRequest:
    """Flag: a signal has asked the program to exit."""

    requested: bool = False


@contextlib.contextmanager
def handle_termination_signals() -> Generator[ExitRequest]:
    """Handle SIGTERM and SIGHUP inside the context as Ctrl-C, and exit with code 143 afterwards.

    asyncio turns a SIGINT during a turn into a cancellation of the turn; at the prompt it raises KeyboardInterrupt at
    once. Raises typer.Exit.
    """
    ending = ExitRequest()

    def handle_signal(number: int, frame: FrameType | None) -> None:
        ending.requested = True
        signal.raise_signal(signal.SIGINT)

    numbers = [getattr(signal, name) for name in TERMINATION_SIGNALS if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in numbers}
    for number, handler in previous.items():
        if handler is signal.SIG_DFL:  # an ignored signal, as under nohup, stays ignored
            signal.signal(number, handle_signal)
    try:
        yield ending
    except KeyboardInterrupt:
        if ending.requested:
            raise typer.Exit(EXIT_TERMINATED) from None
        raise
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
