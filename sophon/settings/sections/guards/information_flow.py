"""Settings section of the guard InformationFlow."""

from collections.abc import Iterator
from typing import Annotated, Literal

from sophon.settings.types.field_types import CaseInsensitive, Flag
from sophon.settings.types.section import Field, SettingsSection

LabelName = Annotated[Literal["Public", "Internal", "Confidential", "Restricted", "Critical"], CaseInsensitive()]
SinkName = Annotated[
    Literal["External", "Exec", "Memory", "WorkspaceWrite", "WorkspaceRead", "None"], CaseInsensitive()
]


class InformationFlowSettings(SettingsSection):
    """Labels of data, and where labelled data may go."""

    enabled: Flag = Field(default=True, description="Whether the data that a session reads is labelled and followed.")
    mode: Annotated[Literal["Audit", "Enforce"], CaseInsensitive()] = Field(
        default="Audit",
        description="Audit: record what would be blocked or asked about. Enforce: block it, or ask a person.",
    )
    sources: dict[str, LabelName] = Field(
        default={},
        description="Labels of your own files: glob of paths -> label. The first that matches decides, before the "
        "rules that come with Sophon.",
    )
    sinks: dict[str, SinkName] = Field(
        default={},
        description="Where the arguments of your own tools go: glob of tool names -> sink; None for nowhere.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a glob that cannot be read."""
        if self.sources:
            from sophon.security.policy.path_globs import GlobError, compile_glob  # lazy: RE2 is heavy

            for glob in self.sources:
                try:
                    compile_glob(glob, widens=True)
                except GlobError as error:
                    yield "Sources", str(error)
