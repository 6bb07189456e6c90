"""A chain as a table that a person can read."""

import functools

import pytest

from sophon import Context, Next, Pipeline, Response, Services
from sophon.chain.explanation import MIN_TEXT_WIDTH, TABLE_WIDTH, explain_chain
from sophon.errors import CompositionError
from sophon_middlewares.chains import twelve
from tests.tables import table


async def plain(ctx: Context, next: Next) -> None:
    """Says hello. And more."""
    ctx.response = Response("hello")


class Silent:
    async def __call__(self, ctx: Context, next: Next) -> None:
        await next(ctx)


class Declared:
    zone = "inner"
    acts = {"tool call": "last", "turn": "first " + "word " * 40, "model call": "second", "full moon": "howls"}

    async def __call__(self, ctx: Context, next: Next) -> None:
        await next(ctx)


def test_the_twelve_stand_in_their_order_with_their_zones() -> None:
    text = twelve(Services()).explain()
    rows = [line.split()[:3] for line in text.splitlines()[2:] if line[:2].strip().isdigit()]

    assert [row[0] for row in rows] == [str(n) for n in range(1, 13)]
    assert [row[1] for row in rows] == [type(middleware).__name__ for middleware in twelve(Services())]
    assert [row[2] for row in rows] == ["outer"] * 7 + ["inner"] * 5


def test_no_line_is_wider_than_a_screen() -> None:
    assert max(map(len, twelve(Services()).explain().splitlines())) <= TABLE_WIDTH


def test_what_a_layer_does_stands_by_its_frequency_the_rarest_first() -> None:
    lines = explain_chain([Declared()]).splitlines()[2:]
    words = ("first", "second", "last", "howls")
    positions = [next(i for i, line in enumerate(lines) if word in line) for word in words]
    assert positions == sorted(positions)


@table(
    ("middleware", "words"),
    [
        (plain, ["plain", "any", "Says hello."]),
        (functools.partial(plain), ["plain", "Says hello."]),
        (Silent(), ["Silent", "(no description)"]),
    ],
)
def test_a_layer_that_declares_nothing_is_explained_by_its_docstring(middleware, words: list[str]) -> None:
    assert all(word in explain_chain([middleware]) for word in words)


def test_an_act_without_words_keeps_its_layer_in_the_table() -> None:
    Quiet = type("Quiet", (Declared,), {"acts": {"turn": ""}})
    assert "Quiet" in explain_chain([Quiet()])


def test_a_very_long_name_leaves_room_for_the_words() -> None:
    Long = type("L" * 120, (Declared,), {})
    assert max(map(len, explain_chain([Long()]).splitlines())) <= 120 + 40 + MIN_TEXT_WIDTH


def test_a_nested_chain_is_explained_flat() -> None:
    text = Pipeline.compose(Silent(), Pipeline.compose(Silent(), plain)).explain()
    assert " 3  plain" in text


@table(
    ("attribute", "value", "problem"),
    [("zone", "outr", "Silent, has the zone 'outr'"), ("acts", "hello", "Silent, has the acts 'hello'; write a dict")],
)
def test_a_declaration_that_cannot_be_read_is_refused_when_the_chain_is_composed(
    attribute: str, value: str, problem: str
) -> None:
    middleware = Silent()
    setattr(middleware, attribute, value)
    with pytest.raises(CompositionError, match=problem):
        Pipeline.compose(middleware, plain)
