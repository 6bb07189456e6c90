"""Whatever the text: it never raises, makes a bounded number of calls, and the work grows no faster than the text."""

import asyncio
import importlib
import pkgutil
import re
import re._constants as codes
import re._parser as parser
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import sophon.models.offline
from sophon.messages import Message
from sophon.models.model import ModelRequest, ModelResponse
from sophon.models.offline import OfflineModel
from sophon.models.offline.intent import PlannedCall
from sophon.models.offline.intents.registry import INTENTS, intent_for_tool
from sophon.models.offline.language.clauses import MAX_CLAUSES
from sophon.models.offline.memory_result_parser import parse_memory_hits
from sophon.models.offline.tool_results import parse_tool_result
from sophon.tools.tool import tool
from tests.tables import table

PURPOSES = ("reply", "step", "plan", "vote", "compaction", "title", "simulation", "evaluation")
PIECES = (
    *("what is my ", "and then ", "1. ", "- a\n", "3+", "(", "'a", "“", "run command: ", "x.y/", "my ", "list ", ". "),
    *("remember that ", "in a ", "what time ", "a=b,", "<external-", "tell me ", "https://", "write a to ", "a-", "?!"),
    *("was ist 3 mal ", "merke dir, dass ", ", und lies ", "führe den Befehl aus: ", "wie spät in ", "was du über "),
)
WORDS = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=30).map("".join)


@tool(name="calculator")
def calculator(expression: str) -> str:
    """Arithmetic."""
    return expression


@tool(name="memory.search")
def search(query: str) -> str:
    """Recall."""
    return query


TOOLS = [calculator, search]


def complete(text: str, purpose: Any = "reply") -> ModelResponse:
    model = OfflineModel()
    return asyncio.run(model.complete(ModelRequest([Message("user", text)], TOOLS, model.info, purpose)))


def patterns() -> list[re.Pattern[str]]:
    modules = [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(sophon.models.offline.__path__, "sophon.models.offline.")
    ]
    held = [value for module in modules for value in vars(module).values()]
    flat = [item for value in held for item in (value if isinstance(value, tuple) else (value,))]
    flat = [part for item in flat for part in (item if isinstance(item, tuple) else (item,))]
    return [item for item in flat if isinstance(item, re.Pattern)]


def unbounded_inside(tree: Any, inside: bool = False) -> bool:
    """Whether a repeat without a bound stands inside another one: what makes a pattern exponential."""
    for code, argument in tree:
        endless = code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[1] is codes.MAXREPEAT
        if endless and inside:
            return True
        if any(unbounded_inside(sub, inside or endless) for sub in _subpatterns(argument)):
            return True
    return False


def _subpatterns(argument: Any) -> list[Any]:
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, (tuple, list)):
        return [sub for part in argument for sub in _subpatterns(part)]
    return []


@given(WORDS, st.sampled_from(PURPOSES))
def test_arbitrary_text_is_answered(text: str, purpose: str) -> None:
    response = complete(text, purpose)
    assert bool(response.text) != (bool(response.tool_calls) or purpose == "simulation")
    assert len(response.tool_calls) <= MAX_CLAUSES


@given(st.text(max_size=200), st.sampled_from([*(skill.tool for skill in INTENTS), "memory.forget", "unknown"]))
def test_any_result_of_any_tool_can_be_told(result: str, name: str) -> None:
    finding = parse_tool_result(PlannedCall(name, {"query": "cats", "expression": "1 + 1"}), result)
    assert intent_for_tool(name).describe_result(finding)
    assert all(entry.text for entry in parse_memory_hits(result))


@table("piece", PIECES)
def test_a_text_twice_as_long_takes_no_more_than_about_twice_the_calls(piece: str) -> None:
    counts = [_function_calls(piece * (size // len(piece))) for size in (10_000, 20_000)]
    assert counts[1] <= 2.5 * counts[0] + 500


@table("pattern", patterns())
def test_no_pattern_can_backtrack_without_end(pattern: re.Pattern[str]) -> None:
    assert not unbounded_inside(parser.parse(pattern.pattern, pattern.flags))


def test_the_check_of_patterns_sees_a_bad_one() -> None:
    assert unbounded_inside(parser.parse("(?:a+b?)+"))
    assert len(patterns()) > 50


def _function_calls(text: str) -> int:
    """Calls of Python and C functions while the model answers; the same in every run."""
    coroutine = OfflineModel().complete(ModelRequest([Message("user", text)], TOOLS, OfflineModel().info))
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        coroutine.send(None)
    except StopIteration:
        pass
    finally:
        sys.setprofile(before)
    return count
