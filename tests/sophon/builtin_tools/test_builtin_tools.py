"""The set of built-in tools as a whole."""

import subprocess
import sys

from sophon import ToolRegistry
from sophon.builtin_tools import builtin_tools
from sophon_middlewares.inner.agentic_loop.loop_detector import comparable_result
from tests.tables import table

NAMES = [
    *("datetime.now", "memory.search", "load_tools", "calculator", "memory.write", "files.read", "files.list"),
    *("http.request", "files.write", "http.send", "memory.forget", "system.execute", "memory.read", "memory.graph"),
]


def test_the_order_is_stable_and_the_list_is_the_callers_own() -> None:
    assert [tool.name for tool in builtin_tools()] == NAMES
    builtin_tools().clear()
    assert [tool.name for tool in builtin_tools()] == NAMES


def test_every_tool_and_parameter_is_described() -> None:
    for tool in builtin_tools():
        assert tool.tags, tool.name
        assert tool.description != tool.name
        for parameter in tool.parameters["properties"].values():
            assert parameter["description"], tool.name


@table(
    ("text", "tool"),
    [
        ("what time is it in Tokyo", "datetime.now"),
        ("calculate 17 * 23", "calculator"),
        ("what is the sum of 3 and 4", "calculator"),
        ("remember that I like tea", "memory.write"),
        ("what do you recall about me", "memory.search"),
        ("forget my address", "memory.forget"),
        ("read the file notes.txt", "files.read"),
        ("what is in this folder", "files.list"),
        ("save this to a file", "files.write"),
        ("fetch https://example.com", "http.request"),
        ("post it to the webhook", "http.send"),
        ("run a shell command", "system.execute"),
    ],
)
def test_plain_requests_find_their_tool(text: str, tool: str) -> None:
    scores = ToolRegistry(builtin_tools()).relevance.score_tools(text)
    assert scores[tool] == max(scores.values())


def test_making_the_tools_loads_no_http_client() -> None:
    code = "import sys; from sophon.builtin_tools import builtin_tools; builtin_tools(); print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_results_that_differ_in_ids_and_times_are_the_same_for_the_loop_detector() -> None:
    tools = {each.name: each for each in builtin_tools()}
    for name, first, second in (
        ("datetime.now", "2026-11-22T08:27:18+00:00 (Sunday)", "2026-11-22T08:27:19+00:00 (Sunday)"),
        ("memory.write", "Remembered as 97e50596e64e00000001.", "Remembered as 97e50596e64e00000002."),
        ("http.send", '{"id": 1763800000123}', '{"id": 1763800000124}'),
    ):
        assert comparable_result(tools[name], first) == comparable_result(tools[name], second)
