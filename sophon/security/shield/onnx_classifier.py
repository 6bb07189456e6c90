"""Text classifier in a file of ONNX (extra `sophon-agents[onnx]`), as the Hub of Hugging Face exports them.

Beside the model lie `tokenizer.json`, and `config.json` with `id2label`: the names of the labels, in order.
"""

import importlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from sophon.extras import install_command
from sophon.security.shield.unusable_classifier import UnusableClassifier

ATTACK_LABELS: Final = frozenset({"injection", "prompt_injection", "jailbreak", "malicious", "unsafe", "attack"})
"""Names of labels that stand for an attack, in lower case with `_`."""

MAX_TOKENS: Final = 512
"""Tokens that the model sees at once, or `max_position_embeddings` if that is less. Longer texts are split."""

_SPECIAL_TOKENS: Final = 2


class OnnxTextClassifier:
    """Model that gives one number per label for a text. The probability of an attack is that of its labels together.

    `labels` names them, in any case; without it those of ATTACK_LABELS count. Raises UnusableClassifier for a file that
    is missing or broken, a missing package, and labels that are not there.
    """

    def __init__(self, path: Path, labels: Sequence[str] = ()) -> None:
        self._runtime, tokenizers = _import_package("onnxruntime"), _import_package("tokenizers")
        if not path.is_file():
            raise UnusableClassifier("is no file")
        config = _read_config(path.with_name("config.json"))
        names = _read_names(config)
        self._attacks = _find_attacks(names, labels)
        self._count = len(names)
        limit = config.get("max_position_embeddings")
        self._tokens = min(MAX_TOKENS, limit) if isinstance(limit, int) and limit > _SPECIAL_TOKENS else MAX_TOKENS
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(path.with_name("tokenizer.json")))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(self._tokens, stride=min(64, self._tokens // 4))
        except Exception as error:
            raise UnusableClassifier(f"has no tokenizer.json beside it that can be read: {error}") from error
        try:
            self._session: Any = self._runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:
            raise UnusableClassifier(f"cannot be loaded: {str(error)[:300]}") from error
        unknown = self._inputs - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise UnusableClassifier(f"is no classifier of texts: its inputs are {', '.join(sorted(self._inputs))}")
        try:  # so that a model with other outputs, or another vocabulary, is an error at the start
            self.rate("a text that is no attack")
        except UnusableClassifier:
            raise
        except Exception as error:
            raise UnusableClassifier(f"cannot be used with this tokenizer.json: {str(error)[:300]}") from error

    def rate(self, text: str) -> float:
        """Return the probability of an attack, from 0 to 1: that of the window of the text with the highest."""
        return max((self._rate_window(each) for each in self._split(text) if each.ids), default=0.0)

    def _split(self, text: str) -> Iterator[Any]:
        encoded = self._tokenizer.encode(text)
        yield encoded
        yield from encoded.overflowing

    def _rate_window(self, window: Any) -> float:
        values = {
            "input_ids": window.ids,
            "attention_mask": window.attention_mask,
            "token_type_ids": window.type_ids,
        }
        numpy: Any = importlib.import_module("numpy")  # lazy: onnxruntime has loaded it
        inputs = {name: numpy.array([values[name]], dtype=numpy.int64) for name in self._inputs}
        outputs = numpy.asarray(self._session.run(None, inputs)[0]).reshape(-1).tolist()
        if len(outputs) != self._count or not all(map(math.isfinite, outputs)):
            raise UnusableClassifier(f"answers {outputs!s:.100} where {self._count} finite numbers are expected")
        highest = max(outputs)
        shares = [math.exp(each - highest) for each in outputs]
        return min(1.0, sum(shares[each] for each in self._attacks) / sum(shares))

    @cached_property
    def _inputs(self) -> set[str]:
        return {each.name for each in self._session.get_inputs()}


def _import_package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnusableClassifier(f"needs the package {name}: {install_command('onnx')}") from error


def _read_config(path: Path) -> Mapping[str, Any]:
    try:
        config: object = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnusableClassifier(f"has no {path.name} beside it that can be read: {error}") from error
    if not isinstance(config, dict):
        raise UnusableClassifier(f"has a {path.name} beside it that is no object")
    return cast(Mapping[str, Any], config)


def _read_names(config: Mapping[str, Any]) -> list[str]:
    found: object = config.get("id2label")
    if isinstance(found, dict):
        by_number = cast(Mapping[str, object], found)
        names = [by_number.get(str(number)) for number in range(len(by_number))]
        if len(names) > 1 and all(isinstance(each, str) for each in names):
            return cast(list[str], names)
    raise UnusableClassifier("has a config.json beside it without `id2label`: the names of two or more labels")


def _find_attacks(names: Sequence[str], labels: Sequence[str]) -> list[int]:
    known = [_normalize(each) for each in names]
    wanted = set(map(_normalize, labels)) or ATTACK_LABELS
    attacks = [number for number, name in enumerate(known) if name in wanted]
    if not attacks or len(attacks) == len(known) or (labels and not wanted <= set(known)):
        raise UnusableClassifier(
            f"has the labels {', '.join(names)}: name those of an attack, but not all, in "
            "Guards.Shield.ClassifierLabels"
        )
    return attacks


def _normalize(label: str) -> str:
    return label.strip().lower().replace("-", "_").replace(" ", "_")
