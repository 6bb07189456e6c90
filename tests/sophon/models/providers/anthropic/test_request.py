"""The request body for Anthropic's Messages API."""

import json
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from sophon.messages import Message, Reasoning, ToolCall
from sophon.models.model import ModelInfo, ModelRequest, Purpose
from sophon.models.providers.anthropic.messages import FIRST_MESSAGE, call_id_to_wire
from sophon.models.providers.anthropic.request import MARK, RequestWriter, accepts_temperature
from sophon.tools.tool import Tool, tool
from tests.tables import table

INFO = ModelInfo("claude-sonnet-4-6", "anthropic", max_output_tokens=64_000)


@tool(name="time.now")
async def now(zone: str) -> str:
    """Tell the time."""
    return zone


def write(*messages: Message, tools: tuple[Tool, ...] = (), **more: Any) -> Any:
    request = ModelRequest(**({"messages": list(messages), "tools": tools, "model": INFO} | more))
    return orjson.loads(RequestWriter(INFO.name).write(request))


def plain(body: Any) -> list[tuple[str, list[Any]]]:
    """Roles and blocks, without marks."""
    return [
        (each["role"], [{k: v for k, v in block.items() if k != "cache_control"} for block in each["content"]])
        for each in body["messages"]
    ]


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def called(*ids: str) -> Message:
    return Message("assistant", "", [ToolCall(each, "time.now", {"zone": "UTC"}) for each in ids])


def result(call_id: str, content: str = "noon") -> Message:
    return Message("tool", content, tool_call_id=call_id)


def test_system_messages_at_the_beginning_are_the_system_prompt() -> None:
    body = write(
        Message("system", "Be brief"), Message("system", " "), Message("system", "Be kind"), Message("user", "Hi")
    )
    assert body["system"] == [text("Be brief"), text("Be kind") | {"cache_control": MARK}]
    assert plain(body) == [("user", [text("Hi")])]


def test_a_later_system_message_is_text_of_the_user() -> None:
    body = write(Message("user", "Hi"), Message("assistant", "Hello"), Message("system", "Note"), Message("user", "Go"))
    assert "system" not in body
    assert plain(body)[-1] == ("user", [text("Note"), text("Go")])


def test_messages_of_one_side_become_one_and_blank_ones_none() -> None:
    messages = [
        ("user", "a"),
        ("user", "b"),
        ("assistant", " \n"),
        ("user", ""),
        ("assistant", "c"),
        ("assistant", "d"),
    ]
    body = write(*(Message(role, content) for role, content in messages), Message("user", "e"))  # type: ignore[arg-type]
    assert plain(body) == [
        ("user", [text("a"), text("b")]),
        ("assistant", [text("c"), text("d")]),
        ("user", [text("e")]),
    ]


def test_a_reply_at_the_beginning_follows_a_message_of_the_user() -> None:
    body = write(Message("assistant", "Hello"), Message("user", "Hi"))
    assert plain(body)[0] == ("user", [text(FIRST_MESSAGE)])


def test_results_of_parallel_calls_stand_together_before_the_users_next_text() -> None:
    body = write(
        Message("user", "How late?"),
        called("a", "b"),
        result("a"),
        result("b", "error: no clock"),
        Message("user", "?"),
    )
    use = {"type": "tool_use", "name": "time_now", "input": {"zone": "UTC"}}
    assert plain(body)[1:] == [
        ("assistant", [use | {"id": "a"}, use | {"id": "b"}]),
        (
            "user",
            [
                {"type": "tool_result", "tool_use_id": "a", "content": "noon"},
                {"type": "tool_result", "tool_use_id": "b", "content": "error: no clock", "is_error": True},
                text("?"),
            ],
        ),
    ]


def test_a_blank_result_has_no_content() -> None:
    body = write(Message("user", "Go"), called("a"), result("a", " "))
    assert plain(body)[-1] == ("user", [{"type": "tool_result", "tool_use_id": "a"}])


def test_definitions_are_sent_in_their_order_and_the_last_is_marked() -> None:
    @tool(name="other")
    async def other() -> str:
        """Another."""
        return ""

    body = write(Message("user", "Hi"), tools=(now, other))
    assert [each["name"] for each in body["tools"]] == ["time_now", "other"]
    assert body["tools"][0]["description"] == "Tell the time."
    assert body["tools"][0]["input_schema"]["required"] == ["zone"]
    assert [each.get("cache_control") for each in body["tools"]] == [None, MARK]
    assert body["tool_choice"] == {"type": "auto"}


def test_no_tool_may_be_called_where_the_request_says_so() -> None:
    body = write(Message("user", "Hi"), tools=(now,), tool_choice="none")
    assert (body["tool_choice"], len(body["tools"])) == ({"type": "none"}, 1)


def test_a_transcript_with_calls_declares_its_tools_when_none_is_offered() -> None:
    body = write(Message("user", "Hi"), called("a", "b"), result("a"), result("b"), Message("user", "Sum up"))
    assert [each["name"] for each in body["tools"]] == ["time_now"]
    assert body["tool_choice"] == {"type": "none"}


def test_a_request_without_tools_has_none() -> None:
    assert not {"tools", "tool_choice", "stream", "temperature", "system"} & write(Message("user", "Hi")).keys()


@table(("limit", "sent"), [(4096, 4096), (100_000, 64_000)])
def test_the_output_limit_is_at_most_the_models(limit: int, sent: int) -> None:
    assert write(Message("user", "Hi"), max_tokens=limit)["max_tokens"] == sent


@table(
    ("name", "accepted"),
    [
        ("claude-3-5-haiku-latest", True),
        ("claude-haiku-4-5-20251001", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-opus-4-6", True),
        ("claude-opus-4-7", False),
        ("claude-opus-4-8", False),
        ("claude-sonnet-5", False),
        ("claude-opus-5-5", False),
        ("claude-fable-5", False),
        ("glm-5", True),
    ],
)
def test_a_temperature_is_sent_to_models_that_accept_one(name: str, accepted: bool) -> None:
    assert accepts_temperature(name) is accepted


@table("call_id", ["", "functions.time:0", "a b", "ä", "x" * 200])
def test_an_id_of_another_provider_becomes_one_that_is_accepted(call_id: str) -> None:
    sent = call_id_to_wire(call_id)
    assert sent.replace("-", "_").replace("_", "a").isalnum()
    assert len(sent) <= 128
    assert sent != call_id_to_wire(f"{call_id}.")
    body = write(Message("user", "Hi"), called(call_id), result(call_id))
    assert body["messages"][1]["content"][0]["id"] == body["messages"][2]["content"][0]["tool_use_id"] == sent


def test_arguments_that_json_has_and_orjson_has_not_are_sent() -> None:
    call = ToolCall("a", "time.now", {"n": 2**80})
    request = ModelRequest([Message("user", "Hi"), Message("assistant", "", [call]), result("a")], [], INFO)
    body = json.loads(RequestWriter(INFO.name).write(request))
    assert body["messages"][1]["content"][0]["input"] == {"n": 2**80}


def test_a_lone_surrogate_does_not_stop_a_request() -> None:
    body = write(Message("user", "cut \ud83d off"), called("a"), result("a", "\ud83d"))
    assert plain(body)[0] == ("user", [text("cut ? off")])


def test_thinking_of_a_reply_that_was_changed_stands_first() -> None:
    thinking = {"type": "thinking", "thinking": "Hm", "signature": "s"}
    fields = {"thinking_blocks": [thinking], "block_order": [3, "thinking", "tool_use"]}
    calls = [ToolCall("a", "time.now")]
    same = Message("assistant", "Yes", calls, reasoning=Reasoning("Hm", INFO.id, fields))
    changed = Message("assistant", "Changed", calls, reasoning=Reasoning("Hm", INFO.id, fields))
    kinds = [
        [block["type"] for block in plain(write(Message("user", "Hi"), each, result("a")))[1][1]]
        for each in (same, changed)
    ]
    assert kinds == [["text", "thinking", "tool_use"], ["thinking", "text", "tool_use"]]


def test_thinking_that_litellm_noted_before_an_update_is_sent_back() -> None:
    thinking = {"type": "thinking", "thinking": "Hm", "signature": "s"}
    fields = {"reasoning_content": None, "thinking_blocks": [thinking]}
    reply = Message("assistant", "", [ToolCall("a", "time.now")], reasoning=Reasoning("Hm", INFO.id, fields))
    assert plain(write(Message("user", "Hi"), reply, result("a")))[1][1][0] == thinking


def marks(body: Any) -> list[Any]:
    """The blocks with a mark, in the order in which the provider reads them."""
    blocks = [*body.get("tools", []), *body.get("system", []), *(b for m in body["messages"] for b in m["content"])]
    return [each for each in blocks if "cache_control" in each]


def test_each_request_reads_what_the_one_before_it_has_written() -> None:
    transcript = [Message("system", "Be brief"), Message("user", "Go")]
    before = write(*transcript, tools=(now,))
    for number in range(3):
        ids = [f"{number}-{place}" for place in range(25)]  # more than Anthropic looks back over
        transcript += [called(*ids), *map(result, ids)]
        after = write(*transcript, tools=(now,))
        assert marks(before)[-1] in marks(after)
        before = after
    assert len(marks(before)) == 4


@table("purpose", ["vote", "title", "compaction", "plan"])
def test_a_single_question_writes_only_what_others_share(purpose: Purpose) -> None:
    body = write(Message("system", "Be brief"), Message("user", "Hi"), purpose=purpose)
    assert marks(body) == [text("Be brief") | {"cache_control": MARK}]


MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["user", "assistant", "system"]), st.sampled_from(["", " ", "a", "b\n"])),
    st.builds(lambda place: called(f"{place}"), st.integers(0, 3)),
    st.builds(lambda place: result(f"{place}"), st.integers(0, 3)),
)


@given(st.lists(MESSAGES, max_size=12), st.booleans())
def test_whatever_a_transcript_is_sides_alternate_texts_are_not_blank_and_marks_are_few(
    messages: list[Message], has_tools: bool
) -> None:
    body = write(*messages, tools=(now,) if has_tools else ())
    roles = [each["role"] for each in body["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
    blocks = [*body.get("system", []), *(block for each in body["messages"] for block in each["content"])]
    assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    assert len(marks(body)) <= 4
