"""The codes that an error may have: those of the classes, and those that a host or the gateway gives without one."""

from collections.abc import Iterator

from sophon.errors import SophonError

CLASSLESS = frozenset({"cancelled", "gave_up", "internal", "interrupted", "ok", "timeout"})
"""Of runs that a worker ends, of errors that are not ours, and of attempts that did not fail."""


def error_codes() -> frozenset[str]:
    """All codes there are now, those of tools and middlewares of one's own included, as far as they are loaded.

    As many as there are classes: a code that only an instance has is none of them.
    """
    return CLASSLESS | {each.code for each in _tree(SophonError)}


def _tree(root: type[SophonError]) -> Iterator[type[SophonError]]:
    yield root
    for below in root.__subclasses__():
        yield from _tree(below)
