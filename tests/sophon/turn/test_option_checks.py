"""Options of a turn: planning modes in any case, a ceiling of rounds up to the hard limit."""

import pytest

from sophon.errors import InputError
from sophon.settings import Settings
from sophon.turn.option_checks import check_max_iterations, check_metadata, check_temperature, parse_planning_mode
from tests.tables import table

SETTINGS = Settings()


@table(
    ("given", "mode"),
    [(None, None), ("auto", "Auto"), ("LLMDECIDES", "LlmDecides"), ("Always", "Always"), ("never", "Never")],
)
def test_a_planning_mode_is_read_in_any_case(given: str | None, mode: str | None) -> None:
    assert parse_planning_mode(given) == mode


@table("wanted", [None, 1, 500])
def test_a_ceiling_of_rounds_is_accepted_up_to_the_hard_limit(wanted: int | None) -> None:
    assert check_max_iterations(wanted, SETTINGS) == wanted


@table("wanted", [0, -1, 501, 1.0, True, "5"])
def test_any_other_ceiling_is_refused_with_the_limit(wanted: object) -> None:
    with pytest.raises(InputError, match="a whole number from 1 to 500"):
        check_max_iterations(wanted, SETTINGS)


@table("wanted", [None, 0, 0.7, 2, 2.0])
def test_a_temperature_from_0_to_2_is_accepted(wanted: float | None) -> None:
    assert check_temperature(wanted) == wanted
    assert check_metadata({} if wanted is None else {"temperature": wanted}) == (wanted, [])


@table("wanted", [-0.1, 2.1, True, "0.5", float("nan"), [1]])
def test_any_other_temperature_is_refused(wanted: object) -> None:
    with pytest.raises(InputError, match="a number from 0 to 2"):
        check_metadata({"temperature": wanted})


def test_unknown_metadata_is_refused() -> None:
    with pytest.raises(InputError, match=r"metadata\.top_p: not known"):
        check_metadata({"top_p": 1})
