"""Plans for the tests: small ones by hand, and hypothesis told how to draw any plan: `st.from_type(Plan)`."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import strategies as st

from sophon.plans import Plan, PlanStep
from sophon.tools import Risk

MakePlan: TypeAlias = Callable[..., Plan]

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).map(str.strip).filter(bool)
IDS = WORDS.filter(lambda word: "/" not in word)


@st.composite
def any_plan(draw: st.DrawFn) -> Plan:
    """Up to twelve steps in any order; each depends on some of those before it in a hidden order."""
    ids = draw(st.lists(IDS, min_size=1, max_size=12, unique=True))
    steps = [
        PlanStep(
            step_id,
            draw(WORDS),
            tuple(draw(st.lists(st.sampled_from(ids[:at]), unique=True))) if at else (),
            tuple(draw(st.lists(WORDS, unique=True, max_size=3))),
            draw(st.sampled_from(Risk)),
            draw(st.none() | WORDS),
        )
        for at, step_id in enumerate(ids)
    ]
    return Plan("plan_1", draw(WORDS), tuple(draw(st.permutations(steps))))


st.register_type_strategy(Plan, any_plan())


@pytest.fixture
def make_plan() -> MakePlan:
    """`make_plan(a="", b="a", c="a b")`: each step with the ids that it needs."""

    def make(**needs: str) -> Plan:
        return Plan("plan_1", "goal", tuple(PlanStep(n, f"do {n}", tuple(d.split())) for n, d in needs.items()))

    return make
