"""The ten tools that fit best, in a stable order; what was named, hinted or used stays; the rest can be asked for."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sophon import Context, ModelRequest, Next, Pipeline, Risk, Services, Tool, ToolCall, tool
from sophon.context import Step
from sophon.messages import Message, Response
from sophon.testing import FunctionModel, ScriptedModel
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, ToolExecution, ToolFilter
from sophon_middlewares.chains import twelve
from sophon_middlewares.outer.tool_filter.tool_filter import ALWAYS_OFFERED, Ranking, last_turn, select_tools
from tests.gate import Gate
from tests.tables import table

CHAIN = Pipeline.compose(ToolFilter(), AgenticLoop(), ParallelExecution(), Approval(), ToolExecution(), LlmInvoker())


def made(name: str, *tags: str, description: str = "Zz.", group: str = "", risk: Risk = Risk.LOW) -> Tool:
    @tool(name=name, tags=tags, description=description, group=group, risk=risk)
    async def function() -> str:
        return f"{name} ran"

    return function


def numbered(count: int) -> list[Tool]:
    return [made(f"t{n}") for n in range(count)]


TOOLS = [*numbered(12), made("datetime.now"), made("memory.search")]


@table(
    ("scores", "asked", "top", "chosen"),
    [
        # the fixed two count in the number; free places go by registration
        ({}, [], 10, "t0 t1 t2 t3 t4 t5 t6 t7 datetime.now memory.search"),
        ({}, [], 3, "t0 datetime.now memory.search"),
        ({}, [], 2, "datetime.now memory.search"),
        # always in, even where there is room for one
        ({}, [], 1, "datetime.now memory.search"),
        # the best first, but offered in order of registration
        ({"t9": 2.0, "t5": 0.5, "t11": 1.5}, [], 4, "t9 t11 datetime.now memory.search"),
        ({"t9": 2.0, "t5": 0.5, "t11": 1.5}, [], 6, "t0 t5 t9 t11 datetime.now memory.search"),
        # ties by registration
        ({"t9": 1.0, "t5": 1.0, "t11": 1.0}, [], 4, "t5 t9 datetime.now memory.search"),
        # what was asked for counts in the number
        ({"t9": 1.0}, ["t11"], 4, "t9 t11 datetime.now memory.search"),
        # and exceeds it only by itself
        ({"t9": 9.0}, ["t1", "t3", "t5"], 4, "t1 t3 t5 datetime.now memory.search"),
        ({}, ["t1", "t1", "unknown"], 4, "t0 t1 datetime.now memory.search"),
        ({}, [], 99, "t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11 datetime.now memory.search"),
    ],
)
def test_the_tools_are_chosen_by_the_published_rules(scores, asked: list[str], top: int, chosen: str) -> None:
    assert [each.name for each in select_tools(TOOLS, Ranking(tuple(scores.items())), asked, top)] == chosen.split()


@table(
    ("ranking", "top", "chosen"),
    [
        # words of the name decide between equal scores, a score of none included, and never against a higher one
        (Ranking(name_words=(("t9", 1),)), 3, "t9 datetime.now memory.search"),
        (Ranking((("t3", 1.0), ("t9", 1.0)), (("t9", 1),)), 3, "t9 datetime.now memory.search"),
        (Ranking((("t3", 1.0), ("t9", 0.5)), (("t9", 3),)), 3, "t3 datetime.now memory.search"),
        (Ranking(name_words=(("t4", 1), ("t9", 2))), 3, "t9 datetime.now memory.search"),
        # the calls of the last turn stay, up to half of the number whatever the text says
        (Ranking(called=("t11",)), 4, "t0 t11 datetime.now memory.search"),
        (Ranking((("t1", 9.0), ("t2", 9.0)), called=("t11", "t10", "t9")), 4, "t10 t11 datetime.now memory.search"),
        (Ranking((("t1", 9.0), ("t2", 9.0)), called=("t9", "t8", "t7")), 5, "t1 t8 t9 datetime.now memory.search"),
        # and beyond that half they come before those that nothing speaks for
        (Ranking(called=("t9", "t8", "t7")), 6, "t0 t7 t8 t9 datetime.now memory.search"),
        # what the last turn was about decides after the current text
        (Ranking(of_interest=("t11", "t10")), 3, "t11 datetime.now memory.search"),
        (Ranking((("t2", 0.5),), of_interest=("t11", "t10")), 4, "t2 t11 datetime.now memory.search"),
        (Ranking(name_words=(("t2", 1),), of_interest=("t11",)), 3, "t2 datetime.now memory.search"),
        # never beyond the number, and a tool that is gone takes no place
        (Ranking(called=("t11", "gone")), 2, "datetime.now memory.search"),
        (Ranking(called=("gone", "t11", "t11")), 3, "t11 datetime.now memory.search"),
    ],
)
def test_equal_scores_are_decided_by_the_name_and_by_the_last_turn(ranking: Ranking, top: int, chosen: str) -> None:
    assert [each.name for each in select_tools(TOOLS, ranking, [], top)] == chosen.split()


SAID = Message("user", "say")
REPLIED = Message("assistant", "reply")
HINT = Message("user", "mind the limit", origin="hint")


@table(
    ("stored", "last"),
    [
        ([], []),
        ([SAID], []),
        ([Message("system", "be kind"), SAID], []),
        ([SAID, REPLIED, SAID], [SAID, REPLIED]),
        ([SAID, REPLIED, SAID, HINT, REPLIED, SAID], [SAID, HINT, REPLIED]),
        ([SAID, SAID], [SAID]),
    ],
)
def test_the_last_turn_is_what_lies_between_the_last_two_messages_of_the_user(
    stored: list[Message], last: list[Message]
) -> None:
    assert list(last_turn(stored, len(stored))) == last


@given(
    st.dictionaries(st.sampled_from([each.name for each in TOOLS]), st.floats(0.5, 5)),
    st.lists(st.sampled_from([each.name for each in TOOLS])),
    st.integers(1, 16),
)
def test_the_number_is_exceeded_only_by_what_must_be_in(scores: dict[str, float], asked: list[str], top: int) -> None:
    ranking = Ranking(tuple(scores.items()))
    chosen = [each.name for each in select_tools(TOOLS, ranking, asked, top)]
    must = {each.name for each in TOOLS if each.name in (*ALWAYS_OFFERED, *asked)}

    assert must <= set(chosen)
    assert len(chosen) == min(len(TOOLS), max(top, len(must)))
    assert chosen == [each.name for each in TOOLS if each.name in chosen]
    withheld = [scores.get(each.name, 0) for each in TOOLS if each.name not in chosen]
    rest = [scores.get(name, 0) for name in chosen if name not in must]
    assert not withheld or not rest or max(withheld) <= min(rest)


async def offered(text: str, tools: Sequence[Tool], **parts: object) -> list[str]:
    async def answer(request: ModelRequest) -> str:
        return "ok"

    model = FunctionModel(answer)
    services = Services(models=model, tools=tools, **parts)  # type: ignore[arg-type] - parts of Services
    await CHAIN.run(services.turn(text))
    return [each.name for each in model.requests[0].tools]


async def test_a_small_registry_passes_unchanged() -> None:
    settings = {"Tools": {"Disabled": [each.name for each in Services().registry.tools]}}
    assert await offered("go", numbered(10), settings=settings) == [f"t{n}" for n in range(10)]


async def test_tags_and_words_of_the_description_decide() -> None:
    tools = [
        *numbered(12),
        made("a", "harbour"),
        made("b", description="Finds a harbour."),
        made("c", "ship", "harbour"),
    ]
    names = await offered("Which ship lies in the harbour?", tools)

    assert {"a", "b", "c"} <= set(names)
    assert len(names) == 10


async def test_a_word_within_a_word_is_none() -> None:
    assert "a" not in await offered("go to shipyards", [*numbered(12), made("a", "ship")])


async def test_the_users_tools_win_over_the_built_in_ones_on_equal_scores() -> None:
    names = await offered("calculate", [*numbered(12), made("mine", "calculate")], settings={"ToolFilter": {"Top": 3}})
    assert names == ["mine", "datetime.now", "memory.search"]


FOREIGN = [
    "Führe den Befehl uname -a aus",
    "Wie spät ist es?",
    "Lee el archivo notas.txt y dime qué hay",
    "busca el tiempo de Madrid",
    "读取文件 notes.txt",  # one word of a description is in it, and says nothing
    "现在几点了？",
    "Прочитай файл notes.txt",
    "Выполни команду ls",
]


@table("text", FOREIGN)
async def test_a_text_in_another_language_reaches_every_tool(text: str) -> None:
    mine = [made(f"t{n}") for n in range(12)]
    wanted = [each for each in Services(tools=mine).registry if each.name != "load_tools"]
    for each in wanted:
        load = ToolCall("load", "load_tools", {"group": each.group or "other"})
        with ScriptedModel([[load], "ok"]) as model:
            await CHAIN.run(Services(models=model, tools=mine).turn(text))

        first, second = model.requests
        assert len(first.tools) == 10
        description = next(tool.description for tool in first.tools if tool.name == "load_tools")
        assert load.arguments["group"] in description
        assert each.name in [tool.name for tool in second.tools]


@table("text", FOREIGN)
async def test_a_follow_up_in_another_language_has_a_way_to_the_other_tools(text: str) -> None:
    with ScriptedModel(["ok", "ok"]) as model:
        services = Services(models=model, tools=numbered(12))
        pipeline = twelve(services)
        await pipeline.run(services.turn("go", session_id="s", planning="Never"))
        await pipeline.run(services.turn(text, session_id="s", planning="Never"))

    assert "load_tools" in [each.name for each in model.requests[1].tools]


async def test_tools_that_the_person_names_are_in_beyond_the_number() -> None:
    wanted = [f"t{n}" for n in range(20, 32)]
    names = await offered(f"use {' and '.join(wanted)}", numbered(40))

    assert names == [*wanted, "datetime.now", "memory.search"]


async def test_the_hints_of_a_plan_step_are_in() -> None:
    services = Services(models=ScriptedModel(["ok"]), tools=numbered(40))
    child = services.turn("go").child("step", Step("a", tool_hints=("t37", "missing")))
    await CHAIN.run(child)

    assert "t37" in [each.name for each in child.tools]
    assert len(child.tools) == 10


async def test_the_same_message_is_offered_the_same_tools_in_the_same_order() -> None:
    tools = [made(f"t{n}", "a" if n % 3 else "b") for n in range(40)]
    assert await offered("a b", tools) == await offered("a b", tools)


async def test_what_another_middleware_has_taken_away_does_not_come_back() -> None:
    async def only_even(ctx: Context, next: Next) -> None:
        ctx.tools = [each for each in ctx.tools if each.name[0] != "t" or int(each.name[1:]) % 2 == 0]
        await next(ctx)

    with ScriptedModel(["ok"]) as model:
        ctx = Services(models=model, tools=numbered(40)).turn("use t1 and t2")
        await Pipeline.compose(only_even, CHAIN).run(ctx)

    names = [each.name for each in model.requests[0].tools]
    assert "t2" in names
    assert "t1" not in names
    assert len(names) == 10


async def test_tools_that_the_turn_has_used_stay_in_when_it_is_filtered_on_its_way_again() -> None:
    services = Services(models=ScriptedModel(["ok"]), tools=numbered(40))
    ctx = services.turn("go")
    ctx.messages.append(Message("assistant", "", [ToolCall("c", "t33")]))
    ctx.messages.append(Message("tool", "t33 ran", tool_call_id="c"))
    await CHAIN.run(ctx)

    assert "t33" in [each.name for each in ctx.tools]


@table("guess", ["mail.sent", "mail_sent"])  # the second is what a provider calls it
async def test_a_withheld_tool_that_the_model_guesses_is_refused_with_the_near_names(guess: str) -> None:
    tools = [made("mail.send"), *numbered(40), made("mail.sent", group="mail")]
    with ScriptedModel([[ToolCall("c", guess)], "ok"]) as model:
        await CHAIN.run(Services(models=model, tools=tools).turn("go"))

    result = model.requests[1].messages[-1].content
    assert f"there is no tool {guess!r}" in result
    assert "mail.send" in result
    assert "load_tools(group='mail')" in result


def mail() -> list[Tool]:
    return [*numbered(20), *(made(f"mail.{name}", group="mail") for name in ("send", "read", "sort"))]


LOAD = ToolCall("load", "load_tools", {"group": "mail"})


@table("batch", [[LOAD], [LOAD, ToolCall("beside", "t0")]])
async def test_a_loaded_group_stays_for_the_turn_and_what_it_called_for_the_next_one(batch: list[ToolCall]) -> None:
    with ScriptedModel([batch, [ToolCall("c", "mail.send")], [ToolCall("d", "mail.read")], "ok", "next"]) as model:
        services = Services(models=model, tools=mail())
        pipeline = twelve(services)
        await pipeline.run(services.turn("go", session_id="s", planning="Never"))
        await pipeline.run(services.turn("go", session_id="s", planning="Never"))

    names = [[each.name for each in request.tools] for request in model.requests]
    assert "mail.send" not in names[0]
    assert names[1] == names[2] == names[3] == [*names[0], "mail.send", "mail.read", "mail.sort"]
    assert {"mail.send", "mail.read"} <= set(names[4])
    assert "mail.sort" not in names[4]
    assert [m.content for m in model.requests[3].messages if m.role == "tool"][-2:] == [
        "mail.send ran",
        "mail.read ran",
    ]


async def test_a_loaded_group_is_still_there_after_a_restart() -> None:
    tools = [*mail(), made("grave", group="mail", risk=Risk.HIGH)]
    with ScriptedModel([[LOAD], [ToolCall("c", "grave")], [ToolCall("d", "mail.send")], "ok"]) as model:
        services = Services(models=model, tools=tools, approvals=Gate.suspending())
        pipeline = twelve(services)
        ctx = services.turn("go", planning="Never")
        assert (await pipeline.run(ctx)).finish_reason == "suspended"
        response = await pipeline.run(services.restore(json.loads(json.dumps(ctx.state()))))

    assert response.text == "ok"
    offered = [[each.name for each in request.tools] for request in model.requests]
    assert offered[1] == offered[2] == offered[3]
    assert model.requests[3].messages[-1].content == "mail.send ran"


async def test_a_turn_that_was_written_out_before_it_was_filtered_is_filtered_when_it_goes_on() -> None:
    async def last(ctx: Context, next: Next) -> None:
        ctx.response = Response("ok")

    services = Services(tools=numbered(40))
    ctx = services.restore(services.turn("go").state())
    await Pipeline.compose(ToolFilter(), last).run(ctx)

    assert len(ctx.tools) == 10


async def test_words_of_the_name_break_a_tie() -> None:
    tools = [*numbered(12), made("get_weather"), made("get_tides"), made("getHarbour")]
    assert "get_weather" in await offered("weather?", tools)
    assert "getHarbour" in await offered("harbour?", tools)
    assert "get_tides" not in await offered("weather?", tools)


async def test_a_follow_up_finds_the_tool_that_the_last_turn_called() -> None:
    with ScriptedModel([[ToolCall("c", "t33")], "done", "again"]) as model:
        services = Services(models=model, tools=numbered(40))
        pipeline = twelve(services)
        await pipeline.run(services.turn("use t33", session_id="s", planning="Never"))
        await pipeline.run(services.turn("do it again", session_id="s", planning="Never"))

    names = [each.name for each in model.requests[-1].tools]
    assert "t33" in names
    assert len(names) == 10


@table(("said", "replied"), [("Can you reach the harbour?", "Shall I?"), ("Hm.", "I could use radio.call. Shall I?")])
async def test_a_follow_up_finds_the_tool_that_the_last_turn_was_about(said: str, replied: str) -> None:
    tools = [*numbered(40), made("radio.call", "harbour")]
    with ScriptedModel([replied, "done", "later"]) as model:
        services = Services(models=model, tools=tools)
        pipeline = twelve(services)
        for text in (said, "do it", "now something else"):
            await pipeline.run(services.turn(text, session_id="s", planning="Never"))

    has_it = ["radio.call" in [each.name for each in request.tools] for request in model.requests]
    assert has_it[1:] == [True, False]
