"""Permission levels: which layer decides, what the ceiling limits, and that a chat never raises a person."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.security.authorization.permission_levels import LEVELS_BY_LABEL, Level, resolve_level
from tests.tables import table

ZERO, USER, ADMIN = Level


@table(
    ("layers", "level"),
    [
        ({}, USER),
        ({"is_operator": True}, ADMIN),
        ({"everyone": ZERO}, ZERO),
        ({"everyone": ZERO, "is_operator": True}, ADMIN),
        ({"everyone": ZERO, "channel": USER}, USER),
        ({"channel": USER, "chat": ZERO}, ZERO),
        ({"channel": ZERO, "chat": USER}, USER),
        ({"own": ZERO, "is_operator": True}, ZERO),
        ({"own": ADMIN, "channel": ZERO, "everyone": ZERO}, ADMIN),
        ({"own": ADMIN, "chat": USER}, USER),
        ({"own": ZERO, "chat": USER}, ZERO),
        ({"is_operator": True, "chat": ZERO}, ZERO),
        ({"everyone": ADMIN}, USER),
        ({"chat": ADMIN}, USER),
        ({"chat": ADMIN, "ceiling": ADMIN}, ADMIN),
        ({"ceiling": ZERO}, ZERO),
        ({"own": USER, "ceiling": ZERO}, USER),
    ],
)
def test_the_nearest_layer_decides(layers: dict[str, Any], level: Level) -> None:
    assert resolve_level(**layers) is level


_LAYER = st.none() | st.sampled_from(Level)


@given(chat=_LAYER, channel=_LAYER, everyone=_LAYER, ceiling=st.sampled_from(Level))
def test_nobody_gets_above_the_ceiling_without_being_named(
    chat: Level | None, channel: Level | None, everyone: Level | None, ceiling: Level
) -> None:
    assert resolve_level(chat=chat, channel=channel, everyone=everyone, ceiling=ceiling) <= ceiling


@given(own=st.sampled_from(Level), chat=_LAYER, channel=_LAYER, everyone=_LAYER, is_operator=st.booleans())
def test_no_other_layer_raises_a_person_with_a_level_of_their_own(own: Level, **layers: Any) -> None:
    assert resolve_level(own=own, **layers) <= own


def test_a_level_is_found_by_its_label_and_named_in_rules_by_its_role() -> None:
    assert [LEVELS_BY_LABEL[each.label] for each in Level] == list(Level)
    assert Level.ZERO_TRUST.role == "role:ZeroTrust"
