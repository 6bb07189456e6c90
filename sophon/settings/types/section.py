"""Base class of all settings sections: key spelling, strictness, and conflicts between settings of one section."""

from collections.abc import Iterator
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_pascal
from pydantic_core import PydanticCustomError

VALUE_ERROR_TYPE = "refused"
"""Type of the pydantic error whose message is already a complete sentence."""

CONFLICTS_ERROR_TYPE = "conflicts"
"""Type of the pydantic error that contains several conflicts of one section."""


class SettingsSection(BaseModel):
    """Settings section: PascalCase keys in JSON, snake_case in Python, frozen, unknown keys are errors."""

    model_config = ConfigDict(
        alias_generator=to_pascal,
        populate_by_name=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        protected_namespaces=(),
        defer_build=True,  # validators are built at first use: importing stays cheap
    )

    @classmethod
    def defaults(cls) -> Self:
        """Return the section with its defaults only, without validation: it would build a validator per section."""
        return cls.model_construct()

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for every conflict between settings of this section."""
        yield from ()

    @model_validator(mode="after")
    def _check_conflicts(self) -> Self:
        found = list(self.find_conflicts())
        if found:
            text = "; ".join(f"{key}: {sentence}" for key, sentence in found)
            raise PydanticCustomError(CONFLICTS_ERROR_TYPE, "{text}", {"text": text, "found": found})
        return self


def build_value_error(sentence: str) -> PydanticCustomError:
    """Build the error that a validator raises; the user sees `sentence` unchanged, after the path."""
    return PydanticCustomError(VALUE_ERROR_TYPE, "{sentence}", {"sentence": sentence})
