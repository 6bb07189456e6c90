"""Settings sections of the decision layer: fast paths, by which rules answer before a model is asked."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sophon.settings.types.field_types import Flag
from sophon.settings.types.section import Field, SettingsSection

if TYPE_CHECKING:
    from sophon.decisions.fast_paths.families import FastPathFamily

_RE2 = "expressions of RE2, in any case"


class FastPathSettings(SettingsSection):
    """A family of messages that one tool call answers."""

    name: str = Field(pattern=r"\S", description="Name of your choice, such as `lights`.")
    tool: str = Field(min_length=1, description="Name of the tool; without it the family is off.")
    patterns: tuple[str, ...] = Field(min_length=1, description=f"Patterns of the whole message: {_RE2}.")
    arguments: dict[str, str] = Field(
        default={},
        description="Arguments of the tool; `{place}` stands for the named group `(?P<place>...)` of the pattern.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each expression that RE2 cannot compile."""
        yield from _find_invalid(self.patterns)


class FastPathsSettings(SettingsSection):
    """Messages that one tool call answers, without a model."""

    enabled: Flag = Field(default=True, description="Whether a tool call may answer a message without a model.")
    added: tuple[FastPathSettings, ...] = Field(default=(), description="Families of yours; they are tried first.")


class DecisionsSettings(SettingsSection):
    """What rules decide before a model is asked."""

    enabled: Flag = Field(
        default=False, description="Whether the chain gets DecisionLayer, if it has none: strategies and fast paths."
    )
    fast_paths: FastPathsSettings = Field(
        default_factory=FastPathsSettings.defaults, description="Messages that one tool call answers, without a model."
    )

    @cached_property
    def families(self) -> "Sequence[FastPathFamily]":
        """The families of fast paths that these settings describe; compiled at their first use."""
        from sophon.decisions.configured_fast_paths import build_families  # lazy: the layer is off by default

        paths = self.fast_paths
        added = [(each.name, each.tool, each.patterns, each.arguments) for each in paths.added]
        return build_families(added) if paths.enabled else ()


def _find_invalid(expressions: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    from sophon.security.linear_patterns import PatternError, compile_linear  # lazy: it loads RE2

    for expression in expressions:
        try:
            compile_linear(expression, ignore_case=True)
        except PatternError as error:
            yield "Patterns", f"not an expression of RE2: {error}"
