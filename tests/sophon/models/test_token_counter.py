import asyncio
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.messages import Message, ToolCall
from sophon.models.model import ModelInfo, ModelRequest
from sophon.models.token_counter import MAX_ENCODED_CHARACTERS, MESSAGE_OVERHEAD, TokenCounter, estimate_tokens
from sophon.tools.tool import tool
from tests.tables import table


@tool
async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return city


@table(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("x" * 400, 100),
        ("日本", 3),
        ("日本語訳", 5),
        ("Мир", 3),
        ("🙂", 2),
    ],
)
def test_an_estimate_counts_bytes_of_english_and_characters_of_chinese(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_a_longer_text_never_takes_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text + more) >= estimate_tokens(text)


def test_half_a_surrogate_pair_is_counted_too() -> None:
    assert estimate_tokens("\ud83d") > 0


def test_a_count_is_kept_with_the_message() -> None:
    counter, message = TokenCounter(), Message("user", "abcd")
    assert counter.count_message(message) == 1 + MESSAGE_OVERHEAD
    assert message.tokens == ("estimate", 1 + MESSAGE_OVERHEAD)


def test_a_count_of_another_counter_is_not_trusted() -> None:
    message = Message("user", "abcd")
    object.__setattr__(message, "tokens", ("another", 999))
    assert TokenCounter().count_message(message) == 1 + MESSAGE_OVERHEAD


def test_tool_calls_are_counted() -> None:
    counter = TokenCounter()
    call = ToolCall("1", "weather", {"city": "Oslo"})
    assert counter.count_message(Message("assistant", "", [call])) == MESSAGE_OVERHEAD + counter.count_tool_call(call)
    assert counter.count_tool_call(call) > 2


def request(function_calling: bool) -> ModelRequest:
    info = ModelInfo("m", "p", function_calling=function_calling)
    return ModelRequest([Message("system", "Be kind."), Message("user", "Hello")], [weather], info)


def test_a_request_takes_its_messages_and_its_tools() -> None:
    counter = TokenCounter()
    messages = sum(counter.count_message(message) for message in request(True).messages)
    assert counter.count_request(request(True)) == messages + counter.count_tool(weather)
    assert counter.count_request(request(False)) == messages


@table("ratio", [0.6, 1.0, 2.5])
def test_a_factor_approaches_what_is_reported(ratio: float) -> None:
    counter = TokenCounter()
    for _ in range(60):
        counter.update_calibration("p/m", 1000, round(1000 * ratio))
    assert counter.calibrate(1000, "p/m") == pytest.approx(1000 * ratio, rel=0.01)
    assert counter.calibrate(1000, "p/other") == 1000


def test_one_report_moves_the_factor_a_little() -> None:
    counter = TokenCounter()
    counter.update_calibration("p/m", 1000, 2000)
    assert counter.calibrate(1000, "p/m") == 1150


@table(("estimated", "reported"), [(10, 30), (1000, 9000), (1000, 10), (1000, 0), (0, 10)])
def test_what_is_no_matter_of_tokenizers_teaches_nothing(estimated: int, reported: int) -> None:
    counter = TokenCounter()
    counter.update_calibration("p/m", estimated, reported)
    assert counter.calibrate(1000, "p/m") == 1000


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**7)), max_size=80))
def test_a_factor_stays_within_its_bounds(reports: list[tuple[int, int]]) -> None:
    counter = TokenCounter()
    for estimated, reported in reports:
        counter.update_calibration("p/m", estimated, reported)
    assert 500 <= counter.calibrate(1000, "p/m") <= 3000


async def test_a_warm_counter_counts_with_the_tokenizer_that_litellm_ships() -> None:
    counter, message = TokenCounter(), Message("user", "Hello, world!")
    counter.count_message(message)
    assert await counter.warm_up()
    assert counter.load_error is None
    assert counter.count_text("Hello, world!") == 4
    assert counter.count_message(message) == 4 + MESSAGE_OVERHEAD


async def test_all_counters_of_a_process_share_one_tokenizer() -> None:
    one, other = TokenCounter(), TokenCounter()
    await asyncio.gather(one.warm_up(), other.warm_up())
    assert one.count_text is other.count_text


def test_a_process_holds_the_vocabulary_of_the_tokenizer_in_compiled_code_only() -> None:
    program = """
import asyncio, gc, tiktoken
from sophon.models.token_counter import TokenCounter
counter = TokenCounter()
assert asyncio.run(counter.warm_up())
text = "Hello, w\u00f6rld! \U0001f431"
encoding = tiktoken.get_encoding("cl100k_base")
assert encoding.decode(encoding.encode(text)) == text
assert counter.count_text(text) == len(encoding.encode_ordinary(text))
print(max(len(each) for each in gc.get_objects() if type(each) is dict))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 50_000


async def test_a_warm_counter_counts_known_tools_anew() -> None:
    counter = TokenCounter()
    estimated = counter.count_tool(weather)
    await counter.warm_up()
    assert counter.count_tool(weather) != estimated


async def test_a_long_text_is_extrapolated_from_its_head() -> None:
    counter = TokenCounter()
    await counter.warm_up()
    text = "one two three four " * (MAX_ENCODED_CHARACTERS // 4)
    assert counter.count_text(text) == pytest.approx(len(text) / 19 * 4, rel=0.02)
