"""Output for prompts: its contract, and the implementation on standard error."""

import sys
from collections.abc import Iterable
from typing import Protocol

from sophon_hosting.rendering.control_characters import escape_control_characters


class PromptOutput(Protocol):
    """Output for prompts: the terminal, or standard error when standard output carries JSON."""

    def write_lines(self, lines: Iterable[str], /) -> None:
        """Write whole lines."""
        ...

    def write_prompt(self, text: str, /) -> None:
        """Write the prompt text and leave the cursor behind it."""
        ...

    def finish_prompt(self, text: str, /, *, echoed: bool) -> None:
        """End the prompt line; write the answer behind the prompt unless the terminal has echoed it."""
        ...


class StandardErrorOutput:
    """Prompt output on standard error, used while standard output carries JSON."""

    def write_lines(self, lines: Iterable[str]) -> None:
        """Write whole lines."""
        for line in lines:
            sys.stderr.write(escape_control_characters(line) + "\n")

    def write_prompt(self, text: str) -> None:
        """Write the prompt text and leave the cursor behind it."""
        sys.stderr.write(escape_control_characters(text))
        sys.stderr.flush()

    def finish_prompt(self, text: str, *, echoed: bool) -> None:
        """Write the answer behind the prompt unless the terminal has echoed it."""
        if not echoed:
            sys.stderr.write(escape_control_characters(text) + "\n")
