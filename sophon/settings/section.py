"""The common ground of all settings models: names, strictness, and rules between two settings of one section."""

from collections.abc import Iterator
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_pascal
from pydantic_core import PydanticCustomError

REFUSED = "refused"
"""The type of pydantic error whose message is already a sentence of ours."""

CONFLICTS = "conflicts"
"""The type of pydantic error that carries several problems of one section."""


class Section(BaseModel):
    """A group of settings: PascalCase in JSON, snake_case in Python, frozen, unknown keys refused."""

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

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for every setting here that does not go together with another one here."""
        yield from ()

    @model_validator(mode="after")
    def _without_conflicts(self) -> Self:
        found = list(self.conflicts())
        if found:
            text = "; ".join(f"{key}: {sentence}" for key, sentence in found)
            raise PydanticCustomError(CONFLICTS, "{text}", {"text": text, "found": found})
        return self


def refused(sentence: str) -> PydanticCustomError:
    """The error a validator raises: `sentence` is shown to the person as it stands, after the path."""
    return PydanticCustomError(REFUSED, "{sentence}", {"sentence": sentence})
