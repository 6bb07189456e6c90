"""What the scorers find of labelled answers, as the tables of docs/learning.md: `python -m tests.bench.scorers`."""

from collections.abc import Callable, Sequence
from typing import Final

from sophon.learning.contract import Scorer
from sophon.learning.scorers import FitnessScorer, HeuristicScorer
from tests.sophon.learning.labelled_answers import HELD_OUT, LABELS, TUNING, Labelled

GOOD_FROM: Final = 0.5
"""Score from which an answer counts as good."""


def compare(scorer: Scorer, answers: Sequence[Labelled]) -> tuple[int, int, int]:
    """Return the number of answers, of those that the scorer has an opinion of, and of those that people see alike."""
    judged = [(each, score) for each in answers if (score := scorer.score(each.turn)) is not None]
    return len(answers), len(judged), sum((s.overall >= GOOD_FROM) == each.is_good for each, s in judged)


def show_table() -> str:
    """Return the table in Markdown: per label the mean score of the formula, and how many faults are found."""
    lines = [
        "| answers that a person calls | looked at: number | published formula, mean | faults found | held out: number "
        "| published formula, mean | faults found |",
        "|---|---|---|---|---|---|---|",
    ]
    for label in LABELS:
        cells = [label.replace("_", " ")]
        for half in (TUNING, HELD_OUT):
            of_label = [each for each in half if each.label == label]
            scores = [FitnessScorer().score(each.turn).overall for each in of_label]
            faults = sum(HeuristicScorer().score(each.turn) is not None for each in of_label)
            cells += [str(len(of_label)), f"{sum(scores) / len(scores):.2f}", str(faults)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show_agreement() -> str:
    """Return the table in Markdown: how often a scorer has an opinion, and how often people share it."""
    scorers: dict[str, Callable[[], Scorer]] = {"Fitness": FitnessScorer, "Heuristic": HeuristicScorer}
    lines = ["| scorer | looked at: opinions | shared by people | held out: opinions | shared by people |"]
    lines.append("|---|---|---|---|---|")
    for name, create in scorers.items():
        cells = [name]
        for half in (TUNING, HELD_OUT):
            count, judged, agreed = compare(create(), half)
            cells += [f"{judged} of {count}", f"{agreed} ({agreed / judged:.0%})"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(show_agreement(), show_table(), sep="\n\n")
