"""Training: logistic regression by AdaGrad, one passage after the other, and Platt's calibration over the folds.

Nothing is drawn by chance but the order of the passages, by a fixed seed. Weights are rounded to hundredths, so that
the last bits of a sum, in which machines may differ, do not show in the file.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from sophon.security.heuristics.text_normalization import fold
from sophon.security.shield.text_classifier import TextClassifier, damp
from tests.action_classifier.corpus import TEST, Example, load_lexicon, make_examples

EPOCHS = 4
RATE = 0.05
FIRST_SQUARES = 0.01
PRIOR = 0.1
"""Share of attacks among the texts for which the probabilities are calibrated."""

Row = tuple[tuple[int, ...], bool]


def train() -> TextClassifier:
    """Return the classifier, trained with all folds but the test."""
    folds = [make_examples("text", fold_number) for fold_number in range(TEST)]
    slope, offset = calibrate(score_held_out_folds(folds))
    fitted = fit([each for examples in folds for each in examples])
    return replace(fitted, slope=round(slope, 3), offset=round(offset, 3))


def score_held_out_folds(folds: Sequence[Sequence[Example]]) -> list[tuple[float, bool]]:
    """Return the log odds of each example by a model that was trained without its fold, and whether it is an attack."""
    scores = list[tuple[float, bool]]()
    for number, held_out in enumerate(folds):
        model = fit([each for other, examples in enumerate(folds) if other != number for each in examples])
        scores += [
            (max(map(model.sum_weights, model.list_features(fold(each.text))), default=model.bias), each.is_attack)
            for each in held_out
        ]
    return scores


def fit(examples: Sequence[Example]) -> TextClassifier:
    """Return an uncalibrated model."""
    empty = TextClassifier(load_lexicon(), {}, 0.0, 1.0, 0.0)
    rows = _find_rows(empty, examples)
    attacks = sum(label for _, label in rows)
    importance = {True: 0.5 * len(rows) / attacks, False: 0.5 * len(rows) / (len(rows) - attacks)}
    weights, squares, bias, bias_squares = dict[int, float](), dict[int, float](), 0.0, FIRST_SQUARES
    random = Random(1)
    for _ in range(EPOCHS):
        random.shuffle(rows)
        for features, label in rows:
            damping = damp(len(features))
            total = bias + sum(weights.get(each, 0.0) for each in features) / damping
            slope = importance[label] * (_to_probability(total) - label)
            bias_squares += slope * slope
            bias -= RATE * slope / math.sqrt(bias_squares)
            slope /= damping
            for each in features:
                squares[each] = squares.get(each, FIRST_SQUARES) + slope * slope
                weights[each] = weights.get(each, 0.0) - RATE * slope / math.sqrt(squares[each])
    named = {_name_feature(empty, each): round(value, 2) for each, value in sorted(weights.items())}
    return replace(empty, weights={name: each for name, each in named.items() if each}, bias=round(bias, 2))


def dump_text_classifier(classifier: TextClassifier) -> str:
    """Return the text of a classifier's file."""
    fields = {name: getattr(classifier, name) for name in ("bias", "slope", "offset", "lexicon", "weights")}
    return json.dumps(fields, ensure_ascii=False, indent=0, sort_keys=False) + "\n"


def _name_feature(model: TextClassifier, feature: int) -> str:
    """Return the name of a feature, as in `weights`."""
    names = list(model.lexicon)
    if feature < len(names):
        return names[feature]
    nearness, pair = divmod(feature - len(names), len(names) ** 2)
    first, second = divmod(pair, len(names))
    return f"{names[first]}{'>' * (nearness + 1)}{names[second]}"


def _find_rows(model: TextClassifier, examples: Sequence[Example]) -> list[Row]:
    """Return features and label of each passage; an attack is one passage, because a part of it may be harmless."""
    rows = dict[Row, None]()
    for each in examples:
        text = fold(each.text)
        for features in [model.find_features(text)] if each.is_attack else model.list_features(text):
            rows[tuple(sorted(features)), each.is_attack] = None
    return list(rows)


def calibrate(scored: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Return slope and offset of Platt's logistic curve, by Newton's method, with PRIOR as the share of attacks."""
    attacks = sum(label for _, label in scored)
    importance = {True: PRIOR / attacks, False: (1 - PRIOR) / (len(scored) - attacks)}
    slope, offset = 1.0, 0.0
    for _ in range(50):
        gradient, curvature = [1e-6 * slope, 0.0], [1e-6, 0.0, 1e-9]
        for value, label in scored:
            rating = _to_probability(slope * value + offset)
            error, spread = importance[label] * (rating - label), importance[label] * rating * (1 - rating)
            gradient[0] += error * value
            gradient[1] += error
            curvature[0] += spread * value * value
            curvature[1] += spread * value
            curvature[2] += spread
        determinant = curvature[0] * curvature[2] - curvature[1] ** 2
        slope -= (curvature[2] * gradient[0] - curvature[1] * gradient[1]) / determinant
        offset -= (curvature[0] * gradient[1] - curvature[1] * gradient[0]) / determinant
    return slope, offset


def _to_probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))
