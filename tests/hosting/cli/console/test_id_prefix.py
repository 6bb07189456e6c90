"""Ids of which a person gives the first characters."""

import pytest

from sophon.errors import NotFound
from sophon_hosting.cli.console.id_prefix import complete_id

IDS = ["grt_abc", "grt_abd", "grt_x", "grt_abc1"]


@pytest.mark.parametrize(
    ("given", "found"),
    [("grt_abd", "grt_abd"), ("abd", "grt_abd"), ("x", "grt_x"), ("grt_abc", "grt_abc"), ("other", "other")],
)
def test_an_id_is_completed_from_what_no_other_begins_with(given: str, found: str) -> None:
    assert complete_id(IDS, given, "grant") == found


def test_a_prefix_of_several_names_them() -> None:
    with pytest.raises(NotFound, match=r"single grant 'ab'.*grt_abc"):
        complete_id(IDS, "ab", "grant")
