"""Skill selection: which skills go into a prompt, as a knapsack with dependencies."""

from collections.abc import Mapping, Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as the selection sees it: its length in tokens, its priority, and the names of those that it requires."""

    name: str
    tokens: int
    priority: float
    requires: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Names of the selected skills, requirements before what needs them; and of the others, each with the reason."""

    selected: Sequence[str]
    excluded: Mapping[str, str]


MAX_VISITS: Final = 100_000
"""Skills that the search for a better selection than the greedy one looks at, about 15 ms: enough for the optimum of
about twenty."""


def select_skills(skills: Sequence[Skill], budget: int) -> Selection:
    """Select skills whose tokens fit into the budget, for the greatest sum of priorities.

    A skill comes with what it requires. The result is never worth less than that of the published greedy rule (most
    priority per token first, requirements must be chosen already), nor than choosing greedily with requirements; for
    few skills it is the optimum. Raises ValueError for repeated names and negative numbers.
    """
    known = {skill.name: skill for skill in skills}
    if len(known) != len(skills):
        raise ValueError("two skills have the same name")
    if any(skill.tokens < 0 or skill.priority < 0 for skill in skills):
        raise ValueError("tokens and priority must be 0 or more")
    reasons: dict[str, str] = {}
    closures = {name: closure for name in known if (closure := _close(name, known, reasons)) is not None}
    candidates = [
        _select_published(skills, budget),
        _select_greedily(known, closures, budget),
    ]
    best = max(candidates, key=lambda names: _worth(names, known))
    best = _Search(known, closures, budget, best).run()
    selected = _order(best, known, closures)
    left = budget - sum(known[name].tokens for name in selected)
    for name in known:
        if name not in best and name not in reasons:
            needed = sum(known[each].tokens for each in closures[name] if each not in best)
            reasons[name] = f"it needs {needed} tokens with what it requires, and {max(left, 0)} are left"
    return Selection(selected, {name: reasons[name] for name in known if name in reasons})


def _close(name: str, known: Mapping[str, Skill], reasons: dict[str, str]) -> list[str] | None:
    """Return a skill with all that it requires, requirements first; None, with the reason, if that cannot be."""
    order: list[str] = []
    state: dict[str, bool] = {}  # False while what a skill requires is visited
    stack = [(name, False)]
    while stack:
        each, done = stack.pop()
        if done:
            state[each] = True
            order.append(each)
            continue
        if each in state:
            if not state[each]:
                reasons[name] = f"what it requires is a circle through {each}"
                return None
            continue
        if each not in known:
            reasons[name] = f"it requires {each}, which does not exist"
            return None
        state[each] = False
        stack.append((each, True))
        stack += [(required, False) for required in reversed(known[each].requires) if not state.get(required)]
    return order


def _density(priority: float, tokens: int) -> float:
    return priority / tokens if tokens else 0.0


def _select_published(skills: Sequence[Skill], budget: int) -> set[str]:
    """Select by the published rule (ClawDesk, skill selection), which drops a skill whose requirement comes later."""
    chosen: set[str] = set()
    for skill in sorted(skills, key=lambda each: -_density(each.priority, each.tokens)):
        if skill.tokens <= budget and chosen.issuperset(skill.requires):
            chosen.add(skill.name)
            budget -= skill.tokens
    return chosen


def _select_greedily(known: Mapping[str, Skill], closures: Mapping[str, Sequence[str]], budget: int) -> set[str]:
    """Select the skill with the greatest priority per token, each with what it still requires, until none fits."""
    chosen: set[str] = set()
    costs = {name: _cost(name, known, closures, chosen) for name in known if name in closures}
    needed_by: dict[str, list[str]] = {}
    for name, closure in closures.items():
        for each in closure:
            needed_by.setdefault(each, []).append(name)
    while fitting := [name for name, (_, tokens) in costs.items() if tokens <= budget]:
        best = max(fitting, key=lambda name: costs[name][0] / costs[name][1] if costs[name][1] else float("inf"))
        budget -= costs[best][1]
        added = [each for each in closures[best] if each not in chosen]
        chosen.update(added)
        for each in added:
            costs.pop(each, None)
        for name in {name for each in added for name in needed_by[each]}:
            if name in costs:  # what it requires is there already, so that it costs less
                costs[name] = _cost(name, known, closures, chosen)
    return chosen


def _cost(
    name: str, known: Mapping[str, Skill], closures: Mapping[str, Sequence[str]], chosen: set[str]
) -> tuple[float, int]:
    """Return priority and tokens of what choosing a skill would add."""
    added = [known[each] for each in closures[name] if each not in chosen]
    return sum(each.priority for each in added), sum(each.tokens for each in added)


def _worth(names: set[str], known: Mapping[str, Skill]) -> float:
    return sum(known[name].priority for name in names)


def _order(names: set[str], known: Mapping[str, Skill], closures: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the chosen names by priority per token, requirements before what needs them."""
    position = {name: index for index, name in enumerate(known)}
    by_density = sorted(names, key=lambda each: (-_density(known[each].priority, known[each].tokens), position[each]))
    return list(dict.fromkeys(each for name in by_density for each in closures[name]))


class _Search:
    """Depth-first search with a bound for a selection worth more than the best known one, up to `MAX_VISITS`."""

    def __init__(
        self, known: Mapping[str, Skill], closures: Mapping[str, Sequence[str]], budget: int, best: set[str]
    ) -> None:
        self._known, self._closures, self._budget, self._best = known, closures, budget, best
        self._worth = _worth(best, known)
        self._order = sorted(closures, key=lambda name: -_relative(known[name]))
        self._visits = 0

    def run(self) -> set[str]:
        """Return the best selection found."""
        # Each open branch: the position in the order, and what is chosen and what is excluded so far.
        branches: list[tuple[int, frozenset[str], frozenset[str]]] = [(0, frozenset(), frozenset())]
        while branches and self._visits < MAX_VISITS:
            index, chosen, excluded = branches.pop()
            self._visits += 1 + len(chosen)
            tokens = sum(self._known[name].tokens for name in chosen)
            worth = sum(self._known[name].priority for name in chosen)
            if worth > self._worth:
                self._worth, self._best = worth, set(chosen)
            while index < len(self._order) and self._order[index] in chosen:
                index += 1
            if index == len(self._order) or worth + self._bound(index, tokens, chosen) <= self._worth:
                continue
            name = self._order[index]
            branches.append((index + 1, chosen, excluded | {name}))
            added = [each for each in self._closures[name] if each not in chosen]
            if excluded.isdisjoint(added) and tokens + sum(self._known[each].tokens for each in added) <= self._budget:
                branches.append((index + 1, chosen.union(added), excluded))
        return self._best

    def _bound(self, index: int, tokens: int, chosen: frozenset[str]) -> float:
        """Return what the rest can be worth at most: requirements aside, and the last one in part."""
        left, bound = self._budget - tokens, 0.0
        for position in range(index, len(self._order)):
            name = self._order[position]
            self._visits += 1
            if name in chosen:
                continue
            skill = self._known[name]
            if skill.tokens > left:
                return bound + skill.priority * left / skill.tokens
            left -= skill.tokens
            bound += skill.priority
        return bound


def _relative(skill: Skill) -> float:
    return skill.priority / skill.tokens if skill.tokens else float("inf")
