"""Signals that end things: Ctrl-C a turn, SIGTERM and a lost terminal the program, its turn cancelled and recorded."""

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
    """Whether the program was told to end."""

    asked: bool = False


@contextlib.contextmanager
def gentle_end() -> Generator[Ending]:
    """Within it SIGTERM and SIGHUP do as Ctrl-C does, and then the program ends with 143.

    asyncio turns an interrupt during a turn into its cancellation; a wait at the prompt is left by it at once.
    """
    ending = Ending()

    def end(number: int, frame: FrameType | None) -> None:
        ending.asked = True
        signal.raise_signal(signal.SIGINT)

    numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:  # one that is ignored, as under nohup, stays ignored
            signal.signal(number, end)
    try:
        yield ending
    except KeyboardInterrupt:
        if ending.asked:
            raise typer.Exit(TERMINATED) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
