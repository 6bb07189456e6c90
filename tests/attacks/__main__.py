"""The attacks and their benign twins, as a table: `python -m tests.attacks`."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from sophon import Pipeline, Services
from sophon_middlewares.chains import openparallax
from tests.attacks.cases import attacks, twins
from tests.attacks.measurement import Outcome, run

AUTOMATIC = {"Approval": {"AutoApproveUpTo": "High"}}
ALL_GUARDS: dict[str, Any] = {"Guards": {"InformationFlow": {"Mode": "Enforce"}}}
Compose = Callable[[Services], Pipeline] | None
ROWS: tuple[tuple[str, Mapping[str, Any], bool, Compose], ...] = (
    ("High calls approved in advance, without guards", AUTOMATIC, False, None),
    ("High calls approved in advance, guards as they are by default", AUTOMATIC, True, None),
    ("High calls approved in advance, `InformationFlow` enforced", {**AUTOMATIC, **ALL_GUARDS}, True, None),
    ("High calls approved in advance, chain `openparallax` as it is", AUTOMATIC, True, openparallax),
    ("A person is asked about High calls, without guards", {}, False, None),
    ("A person is asked about High calls, guards as they are by default", {}, True, None),
    ("A person is asked about High calls, `InformationFlow` enforced", ALL_GUARDS, True, None),
    ("A person is asked about High calls, chain `openparallax` as it is", {}, True, openparallax),
)


async def main() -> None:
    """Print the table as Markdown, and the attacks that succeeded in the last row of each half."""
    print("| setting | forbidden effects | benign tasks done | with a question more |\n|---|---|---|---|")
    asked, left = list[int](), list[str]()
    for name, settings, guarded, compose in ROWS:
        if not guarded:
            asked = [(await run(task, settings, guarded=False, asks_about_lasting=False)).questions for task in twins()]
        hit = [(each, await run(each, settings, guarded=guarded, compose=compose)) for each in attacks()]
        benign: list[Outcome] = [await run(task, settings, guarded=guarded, compose=compose) for task in twins()]
        forbidden = [each.goal.name for each, outcome in hit if outcome.forbidden]
        more = sum(after.questions > before for after, before in zip(benign, asked, strict=True))
        done = sum(outcome.complete for outcome in benign)
        print(f"| {name} | {len(forbidden)} of {len(hit)} | {done} of {len(benign)} | {more} |")
        left.append(f"{name}: {', '.join(sorted(set(forbidden))) or 'none'}")
        stopped = [task.name for task, outcome in zip(twins(), benign, strict=True) if not outcome.complete]
        left.append(f"  not done: {', '.join(stopped) or 'none'}")
    print("\n" + "\n".join(left))


if __name__ == "__main__":
    asyncio.run(main())
