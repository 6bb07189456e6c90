"""Files that `/attach` sends with the next message of a chat."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sophon.attachments import Attachment, describe_attachment
from sophon.errors import InputError
from sophon_hosting.rendering.control_characters import to_single_line

MAX_READ_BYTES: Final = 1_000_000_000
"""Larger files are not even read; the limits of attachments are those of the settings, or of the host."""


def read_attached_file(argument: str) -> tuple[str, bytes]:
    """Return name and content of a file; its path may be in quotes. Raises InputError."""
    path = Path(argument.strip("\"'")).expanduser()
    try:
        if path.stat().st_size > MAX_READ_BYTES:
            raise InputError(f"{path} is too large")
        return path.name, path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be read: {reason}") from None


def describe_attached(attached: Sequence[Attachment]) -> list[str]:
    """Return a line per file that the next message has."""
    lines = [f"  attached: {to_single_line(describe_attachment(each))}" for each in attached]
    return lines or ["  nothing is attached; /attach FILE sends a file with the next message"]
