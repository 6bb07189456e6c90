"""Caps of a tool within a turn, as a table."""

from sophon_middlewares.tool_calls.tool_limits import cap_errors
from tests.tables import table


@table(
    ("wanted", "caps", "used", "refused"),
    [
        ({"send": 2}, {"send": 2}, {}, set()),
        ({"send": 3}, {"send": 2}, {}, {"send"}),
        ({"send": 1}, {"send": 2}, {"send": 1}, set()),
        ({"send": 2}, {"send": 2}, {"send": 1}, {"send"}),
        ({"send": 1}, {"send": 2}, {"send": 5}, {"send"}),
        ({"send": 1, "pay": 2}, {"send": 1, "pay": 1}, {}, {"pay"}),
        ({"other": 9}, {"send": 1}, {"send": 1}, set()),
    ],
)
def test_a_tool_is_refused_if_the_reply_asks_for_more_than_is_left(
    wanted: dict[str, int], caps: dict[str, int], used: dict[str, int], refused: set[str]
) -> None:
    assert set(cap_errors(wanted, caps, used)) == refused


def test_the_error_says_how_many_are_left() -> None:
    assert cap_errors({"send": 3}, {"send": 4}, {"send": 2})["send"] == (
        "send may be called 4 times in a turn, 2 are left, and this reply asks for 3; none of them was run. "
        "Call it at most 2 more times"
    )
