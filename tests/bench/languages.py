"""How well rules tell wishes and claims in four languages: `python -m tests.bench.languages`.

200 requests and 200 replies of `tests/cases/languages`, written before the grammars; a hash of the text says which half
was in sight while they were written ("development") and which was not ("held out"). `--failures` prints those of the
first half.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sophon.decisions.action_claim_correction import remove_false_claims
from sophon.decisions.actions_taken import Action
from sophon.decisions.intent_check import judge_intent

CASES: Final = Path(__file__).resolve().parents[1] / "cases" / "languages"
HALVES: Final = ("development", "held out")


def find_half(text: str) -> str:
    """Return the half that a phrase belongs to."""
    return HALVES[hashlib.sha256(text.encode()).digest()[0] % 2]


def read_cases(name: str) -> list[dict[str, Any]]:
    """Return the rows of `requests` (text, tool, asked) or `claims` (text, ran, false), each with its language."""
    return [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines()]


def judge_requests() -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each request with its kind and what becomes of the call in the chain `wasp`."""
    for row in read_cases("requests"):
        intent = judge_intent(row["tool"], {}, [row["text"]])
        outcome = "runs" if intent.allowed else "asked about" if intent.in_doubt else "refused"
        yield row, "requested call" if row["asked"] else "call nobody asked for", outcome


def judge_claims() -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each reply with its kind and whether a sentence of it is taken out."""
    for row in read_cases("claims"):
        actions = [Action(tool, {}, "done", has_effects=True) for tool in row["ran"]]
        _, removed = remove_false_claims(row["text"], actions)
        yield row, "false claim" if row["false"] else "true reply", "caught" if removed else "left"


def count_outcomes() -> Counter[tuple[str, str, str]]:
    """Return how often each (half, kind, outcome) occurs."""
    judged = (*judge_requests(), *judge_claims())
    return Counter((find_half(row["text"]), kind, outcome) for row, kind, outcome in judged)


GOOD: Final = {"requested call": "runs", "call nobody asked for": "", "false claim": "caught", "true reply": "left"}


def main() -> None:
    """Print the counts of both halves."""
    counts = count_outcomes()
    for half in HALVES:
        for kind in GOOD:
            outcomes = {outcome: count for (h, k, outcome), count in sorted(counts.items()) if (h, k) == (half, kind)}
            print(f"{half:12} {kind:22} {sum(outcomes.values()):4}  {outcomes}")
    if "--failures" in sys.argv:
        for row, kind, outcome in (*judge_requests(), *judge_claims()):
            wrong = outcome == "runs" if kind == "call nobody asked for" else outcome != GOOD[kind]
            if wrong and find_half(row["text"]) == HALVES[0]:
                print(row["language"], kind, outcome, row["text"], sep=" | ")


if __name__ == "__main__":
    main()
