"""Text classifiers in files of ONNX: what they rate, and that a file that is no such classifier is an error."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sophon.security.shield.unusable_classifier import UnusableClassifier
from tests.sophon.security.shield.tiny_onnx_model import write_model

pytest.importorskip("onnxruntime")

from sophon.security.shield.onnx_classifier import OnnxTextClassifier

ALL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Hello hello", 0.018), ("perhaps", 0.731), ("hello obey", 0.731), ("OBEY", 0.998), ("unknown", 0.5), (" ", 0)],
)
def test_the_probability_is_that_of_the_labels_of_an_attack(tmp_path: Path, text: str, expected: float) -> None:
    classifier = OnnxTextClassifier(write_model(tmp_path))

    assert classifier.rate(text) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize("inputs", [("input_ids",), ALL_INPUTS])
def test_a_model_gets_the_inputs_that_it_has(tmp_path: Path, inputs: Sequence[str]) -> None:
    assert OnnxTextClassifier(write_model(tmp_path, inputs=inputs)).rate("obey") > 0.99


def test_a_long_text_is_rated_in_windows_to_its_end(tmp_path: Path) -> None:
    classifier = OnnxTextClassifier(write_model(tmp_path))

    assert classifier.rate("hello " * 5000) < 0.05
    assert classifier.rate("hello " * 5000 + "obey " * 600) > 0.99


@pytest.mark.parametrize(
    ("names", "chosen", "attack"),
    [
        (("INJECTION", "SAFE"), (), "hello"),
        (("benign", "Jailbreak"), (), "obey"),
        (("LABEL_0", "LABEL_1"), ("LABEL_1",), "obey"),
        (("LABEL_0", "LABEL_1"), ("label_0",), "hello"),
        (("prompt-injection", "SAFE"), ("safe",), "obey"),
    ],
)
def test_the_labels_of_an_attack_are_known_or_named(
    tmp_path: Path, names: Sequence[str], chosen: Sequence[str], attack: str
) -> None:
    assert OnnxTextClassifier(write_model(tmp_path, labels=names), chosen).rate(attack) > 0.9


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (("LABEL_0", "LABEL_1"), ()),
        (("INJECTION", "JAILBREAK"), ()),
        (("SAFE", "INJECTION"), ("ATTACK",)),
        (("SAFE", "INJECTION"), ("SAFE", "INJECTION")),
    ],
)
def test_labels_that_do_not_say_what_an_attack_is_are_an_error(
    tmp_path: Path, names: Sequence[str], chosen: Sequence[str]
) -> None:
    with pytest.raises(UnusableClassifier, match=rf"has the labels {', '.join(names)}: name those of an attack"):
        OnnxTextClassifier(write_model(tmp_path, labels=names), chosen)


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("model.onnx", "no model", "cannot be loaded"),
        ("model.onnx", None, "is no file"),
        ("config.json", None, r"has no config\.json beside it"),
        ("config.json", "{", r"has no config\.json beside it"),
        ("config.json", "[]", "that is no object"),
        ("config.json", "{}", "without `id2label`"),
        ("config.json", '{"id2label": {"0": "SAFE"}}', "without `id2label`"),
        ("config.json", '{"id2label": {"0": "SAFE", "1": "X", "2": "ATTACK"}}', "where 3 finite numbers are expected"),
        ("tokenizer.json", None, r"has no tokenizer\.json beside it"),
        ("tokenizer.json", "{}", r"has no tokenizer\.json beside it"),
    ],
)
def test_a_file_that_is_missing_or_broken_is_an_error(
    tmp_path: Path, file: str, content: str | None, problem: str
) -> None:
    path = write_model(tmp_path)
    path.with_name(file).unlink() if content is None else path.with_name(file).write_text(content)

    with pytest.raises(UnusableClassifier, match=problem):
        OnnxTextClassifier(path)


def test_the_tokenizer_of_another_model_is_an_error(tmp_path: Path) -> None:
    path = write_model(tmp_path)
    tokenizer = path.with_name("tokenizer.json")
    tokenizer.write_text(tokenizer.read_text().replace('"[UNK]": 0', '"[UNK]": 99'))

    with pytest.raises(UnusableClassifier, match=r"cannot be used with this tokenizer\.json"):
        OnnxTextClassifier(path)


def test_a_model_with_other_inputs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnusableClassifier, match="is no classifier of texts: its inputs are pixels"):
        OnnxTextClassifier(write_model(tmp_path, inputs=["pixels"]))


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_package_is_an_error_that_names_the_extra(
    tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(UnusableClassifier, match=rf'needs the package {package}: pip install "sophon-agents\[onnx\]"'):
        OnnxTextClassifier(write_model(tmp_path))
