"""Settings sections of the decision layer: which patterns and fast paths rules decide by, before a model is asked."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from sophon.settings.types.field_types import CaseInsensitive, Flag
from sophon.settings.types.section import Field, SettingsSection

if TYPE_CHECKING:
    from sophon.decisions.rules import DecisionRules

Language = Annotated[Literal["en", "es"], CaseInsensitive()]
PatternFamily = Annotated[
    Literal["schedule", "continuous", "agent", "script", "chain", "report", "research"], CaseInsensitive()
]

_RE2 = "expressions of RE2, in any case"


class DecisionPatternsSettings(SettingsSection):
    """The patterns of the five strategies."""

    languages: tuple[Language, ...] = Field(default=("en", "es"), description="Languages whose patterns are used.")
    disabled: tuple[PatternFamily, ...] = Field(default=(), description="Families of patterns that are not used.")
    added: Mapping[str, tuple[str, ...]] = Field(
        default_factory=dict[str, tuple[str, ...]],
        description=f"Further patterns by family, such as `schedule`: {_RE2}.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each key that is no family, and each expression that RE2 cannot compile."""
        if not self.added:
            return
        from sophon.decisions.patterns import FAMILY_NAMES  # lazy: most hosts add none

        for name, expressions in self.added.items():
            if name not in FAMILY_NAMES:
                yield f"Added.{name}", f"there is no family {name!r}; there are {', '.join(FAMILY_NAMES)}"
            yield from _find_invalid(f"Added.{name}", expressions)


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
        yield from _find_invalid("Patterns", self.patterns)


class FastPathsSettings(SettingsSection):
    """Messages that one tool call answers, without a model."""

    enabled: Flag = Field(default=True, description="Whether a tool call may answer a message without a model.")
    disabled: tuple[str, ...] = Field(
        default=(), description="Names of families that are off, such as `weather`; `sophon decide --families`."
    )
    added: tuple[FastPathSettings, ...] = Field(default=(), description="Families of yours; they are tried first.")

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each disabled family that does not exist."""
        if not self.disabled:
            return
        from sophon.decisions.fast_path_families import FAMILIES  # lazy: most hosts disable none

        names = [*(each.name for each in self.added), *(each.name for each in FAMILIES)]
        for name in self.disabled:
            if name not in names:
                yield "Disabled", f"there is no family {name!r}; there are {', '.join(names)}"


class DecisionsSettings(SettingsSection):
    """What rules decide before a model is asked."""

    enabled: Flag = Field(
        default=False, description="Whether the chain gets DecisionLayer, if it has none: strategies and fast paths."
    )
    low_intent: Flag = Field(
        default=True, description="Whether a first message that says too little is answered with a question."
    )
    hints: Flag = Field(
        default=True, description="Whether the model is told which tools suit the strategy of the message."
    )
    patterns: DecisionPatternsSettings = Field(
        default_factory=DecisionPatternsSettings.defaults, description="The patterns of the five strategies."
    )
    fast_paths: FastPathsSettings = Field(
        default_factory=FastPathsSettings.defaults, description="Messages that one tool call answers, without a model."
    )

    @cached_property
    def rules(self) -> "DecisionRules":
        """The rules that these settings describe; compiled at their first use."""
        from sophon.decisions.configured_rules import build_rules  # lazy: the layer is off by default

        patterns, paths = self.patterns, self.fast_paths
        return build_rules(
            languages=patterns.languages,
            added_patterns=patterns.added,
            disabled_patterns=patterns.disabled,
            has_fast_paths=paths.enabled,
            added_paths=[(each.name, each.tool, each.patterns, each.arguments) for each in paths.added],
            disabled_paths=paths.disabled,
        )


def _find_invalid(path: str, expressions: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    from sophon.security.linear_patterns import PatternError, compile_linear  # lazy: it loads RE2

    for expression in expressions:
        try:
            compile_linear(expression, ignore_case=True)
        except PatternError as error:
            yield path, f"not an expression of RE2: {error}"
