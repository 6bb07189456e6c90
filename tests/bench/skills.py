"""Skills: time of the choice among many, and of a prompt's section: `python -m tests.bench.skills`.

CPU times of this process, best and median. The worth is beside that of the published greedy rule.
"""

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from sophon.memory.skill_selection import Skill, select_skills
from sophon.models.token_counter import TokenCounter
from sophon.skills.prompt import SkillList
from sophon.skills.skill_package import SkillPackage
from tests.sophon.memory.test_skill_selection import published, worth

COUNTS = (20, 100, 500)
BUDGET = 2000
REPETITIONS = 15


def measure(work: Callable[[], object]) -> tuple[float, float]:
    """Return the best and the median CPU time of a call, in milliseconds."""
    samples: list[float] = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        work()
        samples.append((time.process_time() - began) * 1000)
    return min(samples), statistics.median(samples)


def candidates(count: int) -> list[Skill]:
    """Return skills of 20 to 75 tokens, a fifth of which require another one."""
    rng = random.Random(1)
    return [
        Skill(f"s{n}", rng.randint(20, 75), rng.randint(1, 10), (f"s{rng.randrange(n)}",) if n and n % 5 == 0 else ())
        for n in range(count)
    ]


def main() -> None:
    """Print the rows."""
    for count in COUNTS:
        skills, budget = candidates(count), min(BUDGET, count * 20)
        best, median = measure(lambda skills=skills, budget=budget: select_skills(skills, budget))
        ours = worth(skills, list(select_skills(skills, budget).selected))
        print(f"choice among {count} skills: {best:.1f} ms best, {median:.1f} ms median", end="")
        print(f"; worth {ours:.0f}, by the published rule {published(skills, budget):.0f}")
    words = [f"word{n}" for n in range(300)]
    rng = random.Random(2)
    packages = {
        f"skill-{n}": SkillPackage(f"skill-{n}", " ".join(rng.sample(words, 12)), Path(), "Do it.") for n in range(500)
    }
    listed = SkillList(packages, TokenCounter().count_text)
    requests = iter([f"please help with {word}" for word in words])
    best, median = measure(lambda: listed.build_section(next(requests), BUDGET))
    print(f"section of 500 skills, another request: {best:.1f} ms best, {median:.1f} ms median")
    best, median = measure(lambda: listed.build_section("please help with word1", BUDGET))
    print(f"section of 500 skills, the same words: {best:.3f} ms best, {median:.3f} ms median")


if __name__ == "__main__":
    main()
