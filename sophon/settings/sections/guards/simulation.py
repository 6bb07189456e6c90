"""Settings section of the simulation of calls."""

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection


class SimulationSettings(SettingsSection):
    """Advice of a model on calls of restricted and privileged level."""

    enabled: Flag = Field(
        default=False,
        description="Whether a model is asked what a restricted or privileged call will do; the answer is appended to "
        "the result as advice.",
    )
