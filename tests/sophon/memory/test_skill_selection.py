"""Selection of skills: within the budget, with what they require, and never worth less than the published rule."""

import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.memory import Skill, select_skills
from tests.tables import table


def worth(skills: list[Skill], names: list[str]) -> float:
    return sum(skill.priority for skill in skills if skill.name in names)


def published(skills: list[Skill], budget: int) -> float:
    """The greedy rule of ClawDesk, skill selection, written again."""
    chosen: list[Skill] = []
    for skill in sorted(skills, key=lambda each: -(each.priority / each.tokens if each.tokens else 0)):
        fits = sum(each.tokens for each in chosen) + skill.tokens <= budget
        if fits and all(name in [each.name for each in chosen] for name in skill.requires):
            chosen.append(skill)
    return sum(each.priority for each in chosen)


def optimum(skills: list[Skill], budget: int) -> float:
    best = 0.0
    for count in range(len(skills) + 1):
        for chosen in combinations(skills, count):
            names = {skill.name for skill in chosen}
            if sum(skill.tokens for skill in chosen) <= budget and all(names.issuperset(s.requires) for s in chosen):
                best = max(best, sum(skill.priority for skill in chosen))
    return best


@table(
    ("skills", "budget", "selected"),
    [
        ([], 10, []),
        ([Skill("a", 5, 1)], 4, []),
        ([Skill("a", 5, 1)], 5, ["a"]),
        ([Skill("a", 5, 1), Skill("b", 5, 2)], 5, ["b"]),
        ([Skill("low", 10, 1), Skill("high", 10, 9, ("low",))], 20, ["low", "high"]),
        ([Skill("dense", 1, 2), Skill("big", 10, 10)], 10, ["big"]),
        ([Skill("free", 0, 1), Skill("a", 5, 1)], 5, ["a", "free"]),
        ([Skill("a", 5, 1, ("b",)), Skill("b", 5, 1, ("a",))], 20, []),
        ([Skill("a", 5, 1, ("gone",))], 20, []),
    ],
)
def test_the_selection(skills: list[Skill], budget: int, selected: list[str]) -> None:
    assert list(select_skills(skills, budget).selected) == selected


def test_each_excluded_skill_has_a_reason() -> None:
    skills = [Skill("a", 5, 9), Skill("b", 50, 1), Skill("c", 1, 1, ("gone",)), Skill("d", 1, 1, ("d",))]
    assert select_skills(skills, 10).excluded == {
        "b": "it needs 50 tokens with what it requires, and 5 are left",
        "c": "it requires gone, which does not exist",
        "d": "what it requires is a circle through d",
    }


@table("skills", [[Skill("a", 1, 1), Skill("a", 2, 2)], [Skill("a", -1, 1)], [Skill("a", 1, -1)]])
def test_wrong_skills_are_refused(skills: list[Skill]) -> None:
    with pytest.raises(ValueError, match=r"same name|0 or more"):
        select_skills(skills, 10)


@st.composite
def skill_sets(draw: st.DrawFn) -> list[Skill]:
    count = draw(st.integers(0, 9))
    made = [
        Skill(
            f"s{index}",
            draw(st.integers(0, 20)),
            draw(st.integers(0, 20)),
            # An earlier one, or one that does not exist: no circles.
            tuple(f"s{each}" for each in draw(st.lists(st.sampled_from([*range(index), 99]), max_size=2))),
        )
        for index in range(count)
    ]
    return draw(st.permutations(made))


@given(skill_sets(), st.integers(0, 80))
def test_it_is_the_optimum_for_few_skills_and_complete(skills: list[Skill], budget: int) -> None:
    found = select_skills(skills, budget)
    chosen = list(found.selected)
    assert sum(skill.tokens for skill in skills if skill.name in chosen) <= budget
    for skill in skills:
        if skill.name in chosen:
            assert all(chosen.index(each) < chosen.index(skill.name) for each in skill.requires)
    assert sorted([*chosen, *found.excluded]) == sorted(skill.name for skill in skills)
    assert worth(skills, chosen) == optimum(skills, budget) >= published(skills, budget)


@table("seed", range(5))
def test_it_is_the_optimum_for_twenty_skills_without_requirements(seed: int) -> None:
    rng = random.Random(seed)
    skills = [Skill(f"s{index}", rng.randint(5, 60), rng.randint(1, 20)) for index in range(20)]
    most = [0] * 201  # by dynamic programming: the greatest worth for each number of tokens
    for skill in skills:
        for tokens in range(200, skill.tokens - 1, -1):
            most[tokens] = max(most[tokens], most[tokens - skill.tokens] + int(skill.priority))
    assert worth(skills, list(select_skills(skills, 200).selected)) == most[200]


def test_many_skills_are_never_worth_less_than_by_the_published_rule() -> None:
    skills = [
        Skill(f"s{index}", 37 * index % 91 + 1, 53 * index % 97, (f"s{index * 7 % 300}",) if index % 3 == 0 else ())
        for index in range(1, 300)
    ]
    for budget in (50, 500, 5000):
        assert worth(skills, list(select_skills(skills, budget).selected)) >= published(skills, budget)
