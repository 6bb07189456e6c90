"""Inert tools: they look to a model like the real ones, and return what was recorded instead of running.

The functions of the real tools are not reachable from the registry of a replay, so there is no path on which one runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sophon.messages import ToolCall, to_canonical_json
from sophon.tools.argument_schema import ArgumentSchema, Check
from sophon.tools.registry import Toolbox, ToolRegistry
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import ExternalText, find_fence_sources, unfence_text

NOT_RUN: Final = "[not run in a replay: the turn has no recorded result of this tool with these arguments]"
"""Result of a call that the recorded turn did not make."""

ARGUMENTS = "arguments"
"""The one parameter of the function of an inert tool: the arguments as the model sent them."""


class RecordedResults:
    """Results of the calls of a recorded turn by tool and arguments; of equal calls the results in their order.

    `reused` and `missing` count what was asked for, over all tools.
    """

    def __init__(self, calls: Sequence[tuple[ToolCall, str]]) -> None:
        self._results: dict[tuple[str, bytes], list[str]] = {}
        for call, text in calls:
            self._results.setdefault((call.name, call.canonical_arguments()), []).append(text)
        self.reused = self.missing = 0

    def take(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return the recorded result of a call, the last one again when all were taken; NOT_RUN without any."""
        known = self._results.get((tool, to_canonical_json(arguments)))
        if not known:
            self.missing += 1
            return NOT_RUN
        self.reused += 1
        text = known.pop(0) if len(known) > 1 else known[0]
        # The tool execution puts external text into a fence with a nonce of its own.
        return ExternalText(unfence_text(text)) if find_fence_sources(text) else text  # an ExternalText stays one


class InertToolbox(Toolbox):
    """Toolbox whose tools are all inert, also those that a middleware adds while a turn runs."""

    def __init__(self, tools: Iterable[Tool], results: RecordedResults) -> None:
        self._make_inert: Callable[[Tool], Tool] = lambda tool: make_inert(tool, results)
        super().__init__(ToolRegistry(map(self._make_inert, tools)))

    def add(self, tool: Tool) -> None:
        """See `Toolbox.add`."""
        super().add(self._make_inert(tool))

    def replace(self, source: str, tools: Iterable[Tool]) -> None:
        """See `Toolbox.replace`."""
        super().replace(source, map(self._make_inert, tools))


def make_inert(tool: Tool, results: RecordedResults) -> Tool:
    """Return a tool with the same name, schema and traits, whose function returns a recorded result."""

    async def replay(arguments: Mapping[str, Any]) -> str:
        return results.take(tool.name, arguments)

    # `answer` and the other functions of a tool are the user's code, too.
    return replace(
        tool,
        function=replay,
        schema=_passing_schema(tool),
        approval_note="",
        describe=None,
        answer=None,
        find_problem=None,
        normalize_result=None,
        nested=False,
        timeout_seconds=None,
    )


def _passing_schema(tool: Tool) -> ArgumentSchema:
    """Return the tool's schema, which checks arguments as the tool does, and passes them on as they are."""

    def build() -> tuple[Mapping[str, Any], Check]:
        json_schema, check = tool.schema.build()

        def pass_on(arguments: Mapping[str, Any]) -> dict[str, Any]:
            check(arguments)
            return {ARGUMENTS: dict(arguments)}

        return json_schema, pass_on

    return ArgumentSchema(build, names=tool.schema.names)
