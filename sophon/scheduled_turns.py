"""Marks of a turn that a schedule has started: the id of the schedule, and the beginning of the text."""

from typing import Final

from sophon.extensions import Key

SCHEDULE: Key[str] = Key("schedules.id", dump=str, load=str)
"""Id of the schedule that has started the turn; not set for others. Whoever types the prefix does not set it."""

SCHEDULED_ORIGIN: Final = "schedule"
"""Origin of the message of such a turn, and key of the schedule's id in the data of its session record."""

SCHEDULE_KEYS: Final = "schedule"
"""Channel in the de-duplication key of a scheduled run, whose account is the schedule and whose id is the time; no
platform has this name."""

_PREFIX: Final = "[SCHEDULED TASK:"


def build_scheduled_text(title: str, text: str) -> str:
    """Return the text of a scheduled run: no rule of `sophon.decisions` acts on one that begins so."""
    plain = " ".join(title.replace("]", ")").split())
    return f"{_PREFIX} {plain}]\n{text}"


def strip_scheduled_prefix(text: str) -> str:
    """Return the text of a scheduled run without its first line; any other text as it is."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith(_PREFIX) and first.endswith("]") and rest else text
