"""Settings section of the guard IntentGate."""

from typing import Annotated, Literal

from sophon.settings.types.field_types import CaseInsensitive, Flag
from sophon.settings.types.section import Field, SettingsSection


class IntentGateSettings(SettingsSection):
    """Whether the words of a person ask for a call that has effects."""

    enabled: Flag = Field(
        default=False, description="Whether a call with effects needs words of the person that ask for it."
    )
    on_doubt: Annotated[Literal["Ask", "Refuse"], CaseInsensitive()] = Field(
        default="Ask", description="What becomes of a call that nobody asked for: a person is asked, or it is refused."
    )
    excluded: tuple[str, ...] = Field(
        default=("memory.write", "variables.set", "chat.*", "load_*", "datetime.*"),
        description="Names of tools, with `*`, whose calls are not judged.",
    )
