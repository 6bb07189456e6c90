"""Rules of values hold where a value may be missing, too."""

from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from sophon._python.value_rules import ValueRules
from tests.tables import table

OPTIONAL_NUMBER = TypeAdapter[Any](Annotated[int | None, ValueRules(ge=1, le=9)])
OPTIONAL_TEXT = TypeAdapter[Any](Annotated[str | None, ValueRules(max_length=3)])


@table(("adapter", "value"), [(OPTIONAL_NUMBER, 0), (OPTIONAL_NUMBER, 10), (OPTIONAL_TEXT, "abcd")])
def test_limits_of_an_optional_value_are_those_of_the_value(adapter: TypeAdapter[Any], value: object) -> None:
    with pytest.raises(ValidationError):
        adapter.validate_python(value)


@table(("adapter", "value"), [(OPTIONAL_NUMBER, None), (OPTIONAL_NUMBER, 9), (OPTIONAL_TEXT, None)])
def test_an_optional_value_within_its_limits_or_none_is_valid(adapter: TypeAdapter[Any], value: object) -> None:
    assert adapter.validate_python(value) == value
