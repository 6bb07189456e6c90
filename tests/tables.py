"""Table-driven tests: one test that goes through the rows of a table.

`pytest.mark.parametrize` makes a test of each row, with its own fixtures, its own event loop and its own place in the
collection: a millisecond or three, where a row of a pure rule costs microseconds. It stays for rows that need fixtures
of their own (an empty folder, a store without rows), a mark, or the examples of hypothesis.
"""

import functools
import inspect
import reprlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import pytest

Test = TypeVar("Test", bound=Callable[..., object])


class Row(NamedTuple):
    """The arguments that a test takes from one row of its table."""

    name: str
    values: dict[str, Any]


def table(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test once for each row, whose values it takes by name; a failure names its row in a note.

    The fixtures of the test are set up once for all rows. A row of several names is a sequence of as many values, or
    a `pytest.param`, whose `id` then stands in the note.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    read = [_read_row(columns, row) for row in rows]
    assert read, "a table without rows tests nothing"

    def decorate(test: Test) -> Test:
        assert not hasattr(test, "hypothesis"), "the plug-in of hypothesis looks for a test that is not wrapped"

        def run_rows(*self: object, **fixtures: object) -> None:
            for row in read:
                with _named_in_failures(row):
                    test(*self, **fixtures, **row.values)

        async def run_coroutines(*self: object, **fixtures: object) -> None:
            for row in read:
                with _named_in_failures(row):
                    await cast("Any", test)(*self, **fixtures, **row.values)

        run = functools.wraps(test)(run_coroutines if inspect.iscoroutinefunction(test) else run_rows)
        signature = inspect.signature(test)
        fixtures = [each for each in signature.parameters.values() if each.name not in columns]
        cast("Any", run).__signature__ = signature.replace(parameters=fixtures)  # what pytest asks for
        return cast("Test", run)

    return decorate


def _read_row(columns: Sequence[str], row: Any) -> Row:
    name = ""
    if isinstance(row, type(pytest.param())):
        assert not row.marks, "a mark belongs to a test of its own"
        name, row = f"{row.id}: ", row.values
    elif len(columns) == 1:
        row = (row,)
    return Row(name, dict(zip(columns, row, strict=True)))


@contextmanager
def _named_in_failures(row: Row) -> Generator[None]:
    try:
        yield
    except pytest.skip.Exception as error:
        raise AssertionError("a row that skips its test hides the rows behind it") from error
    except (Exception, pytest.fail.Exception) as error:
        error.add_note(row.name + ", ".join(f"{name} = {reprlib.repr(value)}" for name, value in row.values.items()))
        raise
