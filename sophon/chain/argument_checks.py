"""Checks of what a middleware's constructor is given: refused there, and not in the first turn."""

from sophon.errors import CompositionError


def check_argument(where: str, value: object, attribute: str, remedy: str) -> None:
    """Raise CompositionError unless `value` is None, or an instance that has the attribute."""
    if value is not None and (isinstance(value, type) or not hasattr(value, attribute)):
        raise CompositionError(f"{where}={value!r:.60} is not of the right kind; write {remedy}")
