"""Settings of skills: folders with instructions, and tools, that a model loads when a task needs them."""

from pathlib import Path
from typing import Annotated, Literal

from sophon.settings.types.field_types import CaseInsensitive, Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class SkillsSettings(SettingsSection):
    """Skills."""

    enabled: Flag = Field(default=True, description="Whether skills are offered to the model.")
    directories: tuple[Path, ...] = Field(
        default=(Path("data/skills"),),
        description="Folders of which each subfolder with a SKILL.md or a manifest is a skill; "
        "`sophon skills install` copies into the first.",
    )
    instructions: Annotated[Literal["OnDemand", "Selected"], CaseInsensitive()] = Field(
        default="OnDemand",
        description="`OnDemand`: the model loads the instructions of a skill when it needs them; `Selected`: those of "
        "the skills that a message is about are in its prompt at once, as far as the window has room.",
    )
    prompt_tokens: WholeNumber = Field(
        default=2000,
        ge=0,
        description="Tokens that the list of skills may take in a prompt; if not all fit, the best are chosen.",
    )
