"""What is remembered, found and forgotten, and by whom."""

import json

import pytest

from sophon import Context, Risk, Services
from sophon.builtin_tools.memory import memory_forget, memory_search, memory_write
from sophon.errors import InvalidArguments, ToolError


async def remember(ctx: Context, text: str, category: str = "fact") -> str:
    said = await memory_write.invoke({"text": text, "category": category}, ctx)
    return said.removeprefix("Remembered as ").removesuffix(".")


async def test_what_was_written_is_found_with_its_id_and_date(ctx: Context) -> None:
    entry_id = await remember(ctx, " Ada likes green tea ", "preference")
    found = json.loads(await memory_search.invoke({"query": "tea"}, ctx))
    expected = {"id": entry_id, "text": "Ada likes green tea", "category": "preference", "date": "2026-01-01"}
    assert found == [expected]


async def test_an_entry_says_where_it_came_from_and_whose_it_is(services: Services, ctx: Context) -> None:
    await remember(ctx, "The sky is blue")
    (entry,) = await services.store.memories.list_all()
    assert (entry.origin, entry.scope) == ("telegram/demo", "ada")


async def test_nobody_finds_or_forgets_what_belongs_to_another(services: Services, ctx: Context) -> None:
    entry_id = await remember(ctx, "The safe opens with 1234")
    other = services.turn("Hello", principal="eve")
    assert "Nothing" in await memory_search.invoke({"query": "safe"}, other)
    with pytest.raises(ToolError, match="there is no memory"):
        await memory_forget.invoke({"id": entry_id}, other)
    assert len(await services.store.memories.list_all()) == 1


async def test_a_turn_without_a_principal_uses_the_users_scope(services: Services) -> None:
    await remember(services.turn("Hello"), "The sky is blue")
    (entry,) = await services.store.memories.list_all()
    assert entry.scope == "user"


async def test_forgetting_removes_the_entry_and_repeats_what_it_was(services: Services, ctx: Context) -> None:
    entry_id = await remember(ctx, "Ada likes tea")
    assert await memory_forget.invoke({"id": entry_id}, ctx) == "Forgotten: Ada likes tea"
    assert await services.store.memories.list_all() == []


async def test_an_empty_query_gives_the_newest_and_the_limit_holds(ctx: Context) -> None:
    for number in range(4):
        await remember(ctx, f"Fact {number}")
    found = json.loads(await memory_search.invoke({"query": "", "limit": 2}, ctx))
    assert len(found) == 2


async def test_finding_nothing_is_said(ctx: Context) -> None:
    assert await memory_search.invoke({"query": "whales"}, ctx) == "Nothing that matches 'whales' has been remembered."
    assert await memory_search.invoke({"query": ""}, ctx) == "The memory is empty."


@pytest.mark.parametrize(
    "arguments", [{"text": ""}, {"text": "x" * 4001}, {"text": "x", "category": "secret"}, {"text": "\ud800"}]
)
async def test_what_cannot_be_remembered_is_refused(ctx: Context, arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidArguments):
        await memory_write.invoke(arguments, ctx)


async def test_blank_text_is_refused(ctx: Context) -> None:
    with pytest.raises(ToolError, match="empty"):
        await memory_write.invoke({"text": "  "}, ctx)


def test_forgetting_asks_and_cannot_be_edited() -> None:
    assert (memory_search.risk, memory_write.risk, memory_forget.risk) == (Risk.NONE, Risk.MEDIUM, Risk.HIGH)
    assert not memory_forget.editable
