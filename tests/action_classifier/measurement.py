"""Measurement: what the heuristics, the classifier, and both together find in texts that the classifier never saw."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from sophon.security.heuristics import evaluate_heuristics
from sophon.security.shield.classifier_contract import THRESHOLD
from sophon.security.shield.text_classifier import TextClassifier
from tests.action_classifier.corpus import TEST, make_examples
from tests.action_classifier.training import PRIOR
from tests.attacks.cases import GOALS, WORDINGS, twins

LANGUAGES = {"en": "English", "de": "German", "es": "Spanish", "fr": "French"}
Key = TypeVar("Key")

EDGES = (0.0, 0.05, 0.2, 0.5, 0.85, 1.01)


@dataclass(frozen=True)
class Sample:
    """A text of a set (`group, part`); `kind` is text or command."""

    name: str
    kind: str
    text: str
    is_attack: bool


@dataclass(frozen=True)
class Result:
    """A sample, whether the heuristics find something, and the probability of the classifier."""

    sample: Sample
    is_found: bool
    rating: float

    @property
    def alarms(self) -> tuple[bool, bool, bool]:
        """Whether the heuristics, the classifier, and one of both find something."""
        return self.is_found, self.rating >= THRESHOLD, self.is_found or self.rating >= THRESHOLD


def measure(classifier: TextClassifier, files: Iterable[Path] = ()) -> list[Result]:
    """Return the results of all samples: those of this repository, and of files in lines of JSON."""
    samples = [*_list_samples(), *(sample for file in files for sample in _read_samples(file))]
    return [Result(each, _find(each.kind, each.text), classifier.rate(each.text)) for each in samples]


def print_tables(results: Sequence[Result]) -> None:
    """Print the share of alarms in each set, precision and recall of each group, and the reliability."""
    print("| texts | number | heuristics | classifier | both |\n|---|---|---|---|---|")
    for (is_benign, name), found in sorted(_group(results, lambda each: (not each.is_attack, each.name)).items()):
        shares = " | ".join(
            f"{sum(each) / len(found):.1%}" for each in zip(*(each.alarms for each in found), strict=True)
        )
        print(f"| {'benign' if is_benign else 'attacks'}: {name} | {len(found)} | {shares} |")
    print("\n| texts | heuristics: precision, recall | classifier | both |\n|---|---|---|---|")
    for name, found in sorted(_group(results, lambda each: each.name.partition(",")[0] + f", {each.kind}").items()):
        pairs = [precision_and_recall(found, number) for number in range(3)]
        if all(pairs):
            print(f"| {name} | {' | '.join(f'{each[0]:.2f}, {each[1]:.2f}' for each in pairs if each)} |")
    print(f"\n| probability | texts | attacks, if {PRIOR:.0%} of the texts were |\n|---|---|---|")
    for lowest, highest, number, share in list_reliability([each for each in results if _is_held_out_text(each)]):
        print(f"| {lowest:g} to {min(1.0, highest):g} | {number} | {share:.0%} |")


def precision_and_recall(results: Sequence[Result], number: int) -> tuple[float, float] | None:
    """Return both for the alarms of a number (see `Result.alarms`); None without attacks and benign texts."""
    attacks = sum(each.sample.is_attack for each in results)
    if attacks in {0, len(results)}:
        return None
    found = [each.sample.is_attack for each in results if each.alarms[number]]
    return sum(found) / len(found) if found else 1.0, sum(found) / attacks


def list_reliability(results: Sequence[Result]) -> Iterator[tuple[float, float, int, float]]:
    """Yield for each range of probabilities its ends, its texts, and the share of attacks if PRIOR of all were some."""
    attacks = sum(each.sample.is_attack for each in results)
    weights = {True: PRIOR / attacks, False: (1 - PRIOR) / (len(results) - attacks)}
    for lowest, highest in pairwise(EDGES):
        labels = [each.sample.is_attack for each in results if lowest <= each.rating < highest]
        if total := sum(weights[label] for label in labels):
            yield lowest, highest, len(labels), weights[True] * sum(labels) / total


def _group(results: Iterable[Result], key: Callable[[Sample], Key]) -> dict[Key, list[Result]]:
    groups = defaultdict[Key, list[Result]](list)
    for each in results:
        groups[key(each.sample)].append(each)
    return groups


def _is_held_out_text(result: Result) -> bool:
    return result.sample.kind == "text" and result.sample.name.startswith("held out")


@cache
def _find(kind: str, text: str) -> bool:
    is_command = kind == "command"
    payload: Mapping[str, str] = {"command" if is_command else "text": text}
    return evaluate_heuristics("execute_command" if is_command else "publish", payload).severity != "allow"


def _list_samples() -> Iterator[Sample]:
    for kind in ("text", "command"):
        for each in make_examples(kind, TEST):
            yield Sample(f"held out, {kind}, {LANGUAGES[each.template.language]}", kind, each.text, each.is_attack)
    for goal in GOALS:
        for wording in WORDINGS:
            yield Sample("tests/attacks, injections", "text", wording.format(demand=goal.demand), True)
    for task in twins():
        yield Sample("tests/attacks, requests", "text", task.text, False)
        for _, arguments in task.actions:
            for name, value in arguments.items():
                if isinstance(value, str):
                    yield Sample("tests/attacks, arguments", "command" if name == "command" else "text", value, False)


def _read_samples(file: Path) -> Iterator[Sample]:
    for line in file.read_text("utf-8").splitlines():
        yield Sample(*json.loads(line))
