"""Formatting of values for the terminal: arguments, counts, times, durations, costs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sophon.messages import Usage, to_canonical_json
from sophon_hosting.rendering.control_characters import to_single_line

ARGUMENTS_CHARACTERS = 40


def format_arguments(arguments: Mapping[str, Any]) -> str:
    """Format tool arguments: the value of a single one, `name=value` of several; cut to `ARGUMENTS_CHARACTERS`."""
    values = {name: _value_text(value) for name, value in arguments.items()}
    text = ", ".join(values.values() if len(values) == 1 else (f"{name}={value}" for name, value in values.items()))
    return to_single_line(text, ARGUMENTS_CHARACTERS)


def format_count(number: int, noun: str) -> str:
    """Format a count with its noun: `1 message`, `2 messages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_bytes(number: int) -> str:
    """Format a size: `512 KB`, `1.4 MB`, `20.0 GB`; units are powers of 1,000."""
    if number < 1_000_000:
        return f"{number / 1_000:,.0f} KB"
    return f"{number / 1_000_000:,.1f} MB" if number < 1_000_000_000 else f"{number / 1_000_000_000:,.1f} GB"


def format_duration(milliseconds: int) -> str:
    """Format a duration: `2 ms`, `1.4 s`, `3 min 5 s`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def format_time(at: datetime | str | None) -> str:
    """Format a time, or its ISO text in UTC, to the second: `2026-01-31 12:00:00`; empty for None."""
    text = at.astimezone(UTC).isoformat() if isinstance(at, datetime) else at or ""
    return text[:19].replace("T", " ")


def format_cost(micros: int) -> str:
    """Format micro-USD as dollars with four decimals: `$0.0123`."""
    return f"${micros / 1_000_000:,.4f}"


def format_usage_cost(usage: Usage) -> str:
    """Format the cost of a usage; a part whose price is unknown is said to be so, because it is not free."""
    if not usage.unpriced_tokens:
        return format_cost(usage.cost_micros)
    return f"{format_cost(usage.cost_micros)} + unknown cost" if usage.cost_micros else "unknown cost"


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else to_canonical_json(value).decode()


def format_ms(milliseconds: float) -> str:
    """Return a duration with its unit."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:,.2f} s"
    return (
        f"{milliseconds:.2f} ms"
        if milliseconds < 10 and milliseconds != int(milliseconds)
        else f"{milliseconds:.0f} ms"
    )
