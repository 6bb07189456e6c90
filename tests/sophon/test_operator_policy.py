"""Who may decide what: the rules as a table."""

from sophon import Risk
from sophon.operator_policy import UNRESTRICTED, OperatorPolicy
from tests.tables import table

SEVERAL = OperatorPolicy(frozenset({"olga", "otto"}), several_users=True)
FOUR_EYES = OperatorPolicy(frozenset({"olga", "otto"}), several_users=True, four_eyes=True)


@table(
    ("policy", "risk", "asker", "decider", "approves", "problem"),
    [
        (UNRESTRICTED, Risk.CRITICAL, "ada", "ada", True, None),
        (UNRESTRICTED, Risk.HIGH, "ada", "eve", False, "forbidden"),
        (SEVERAL, Risk.HIGH, "ada", "ada", True, None),
        (SEVERAL, Risk.CRITICAL, "ada", "ada", True, "operator_needed"),
        (SEVERAL, Risk.CRITICAL, "ada", "ada", False, None),
        (SEVERAL, Risk.CRITICAL, "ada", "eve", True, "forbidden"),
        (SEVERAL, Risk.CRITICAL, "ada", "olga", True, None),
        (SEVERAL, Risk.CRITICAL, "olga", "olga", True, None),
        (FOUR_EYES, Risk.CRITICAL, "olga", "olga", True, "operator_needed"),
        (FOUR_EYES, Risk.CRITICAL, "olga", "olga", False, None),
        (FOUR_EYES, Risk.CRITICAL, "olga", "otto", True, None),
        (FOUR_EYES, Risk.HIGH, "olga", "olga", True, None),
    ],
)
def test_who_may_decide(
    policy: OperatorPolicy, risk: Risk, asker: str, decider: str, approves: bool, problem: str | None
) -> None:
    assert policy.find_problem(risk, asker=asker, decider=decider, approves=approves) == problem
