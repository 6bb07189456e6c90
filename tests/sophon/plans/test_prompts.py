"""What a model is told about plans, and how its vote is read."""

from collections.abc import Callable

from sophon.plans import (
    Plan,
    PlanProgress,
    PlanStep,
    parse_plan,
    parse_vote,
    plan_prompt,
    reask_prompt,
    step_prompt,
    synthesis_prompt,
    vote_prompt,
)
from sophon.tools import Risk, tool
from tests.tables import table

STEP = PlanStep("b", "write the summary", ("a",))


@tool(name="mail.send", risk=Risk.HIGH)
def send(to: str) -> str:
    """Send a mail.

    It goes out at once.
    """
    return to


def test_the_instructions_name_every_tool_with_its_risk_on_one_line() -> None:
    prompt = plan_prompt([send], 20)
    assert "- mail.send (risk high): Send a mail." in prompt.splitlines()[-1]
    assert "At most 20 steps" in prompt


def test_the_example_in_the_instructions_is_itself_a_plan() -> None:
    assert parse_plan(plan_prompt([], 20), plan_id="1").steps[0].id == "a"


def test_the_second_request_lists_every_problem() -> None:
    assert "- a problem\n- another\n" in reask_prompt(["a problem", "another"])


def test_the_second_request_stays_short() -> None:
    prompt = reask_prompt([f"problem {n}" for n in range(5000)])
    assert "- and 4980 more" in prompt
    assert len(prompt.splitlines()) < 30


def test_a_huge_result_is_cut_before_it_reaches_the_next_step() -> None:
    assert len(step_prompt(STEP, {"a": "word " * 10_000})) < 8200


def test_the_synthesis_is_told_of_every_step_and_of_what_went_wrong(make_plan: Callable[..., Plan]) -> None:
    progress = PlanProgress(make_plan(a="", b="", c="b"))
    progress.start("a")
    progress.complete("a", "cats purr")
    progress.start("b")
    progress.fail("b", "no network")
    prompt = synthesis_prompt(progress)
    assert "Its goal: goal" in prompt
    assert "Step a (do a), completed:\ncats purr" in prompt
    assert "Step b (do b), failed:\nno network" in prompt
    assert "Step c (do c), skipped:\nit needs step 'b'" in prompt


def test_the_question_of_the_vote_holds_the_request() -> None:
    assert "buy milk" in vote_prompt("buy milk")


@table(
    ("answer", "vote"),
    [
        ("yes", True),
        ("No", False),
        (" **YES**.", True),
        ("no, it is simple", False),
        ("Yes, no doubt", True),
        ("Answer: no.", False),
        ("The answer is\nyes!", True),
        ("", None),
        ("maybe", None),
        ("yesterday", None),
        ("nothing", None),
        ("there is no way to tell", None),
    ],
)
def test_a_vote_is_yes_no_or_neither(answer: str, vote: bool | None) -> None:
    assert parse_vote(answer) is vote


def test_a_long_vote_is_read_in_linear_time() -> None:
    assert parse_vote("no! " * 50_000 + "x" + "!" * 100_000) is False
    assert parse_vote("x" + "no!" * 30_000 + "x") is None
