"""Completion of an id from a unique prefix."""

from collections.abc import Iterable

from sophon.errors import NotFound


def complete_id(ids: Iterable[str], given: str, kind: str) -> str:
    """Return the only id that begins with `given`, with or without the prefix of its kind: `ab` for `grt_abc`.

    Without a match return `given` unchanged, for an error of the host. Raises NotFound if several match.
    """
    known = list(ids)
    found = [each for each in known if each.startswith(given) or each.partition("_")[2].startswith(given)]
    if given in known or not found:
        return given
    if len(found) > 1:
        raise NotFound(f"single {kind}", given, found[:3])
    return found[0]
