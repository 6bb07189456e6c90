"""A text classifier in the format of ONNX, written field by field. It looks up two numbers per word; the highest count.

Field numbers are those of onnx.proto; a length-delimited field has the wire type 2, a number the wire type 0.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

WORDS = {"[UNK]": (0.0, 0.0), "hello": (2.0, -2.0), "obey": (-3.0, 3.0), "perhaps": (0.0, 1.0)}
"""Word -> its scores for the two labels."""

_INT64, _FLOAT = 7, 1


def write_model(
    folder: Path,
    *,
    labels: Sequence[str] = ("SAFE", "INJECTION"),
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    config: Mapping[str, object] | None = None,
) -> Path:
    """Write `model.onnx`, `tokenizer.json` and `config.json`; return the path of the model."""
    path = folder / "model.onnx"
    path.write_bytes(_build_model(inputs))
    settings = {"id2label": {str(number): name for number, name in enumerate(labels)}} if config is None else config
    path.with_name("config.json").write_text(json.dumps(settings))
    path.with_name("tokenizer.json").write_text(json.dumps(_build_tokenizer()))
    return path


def _build_tokenizer() -> dict[str, object]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(WORDS)},
            "unk_token": "[UNK]",
        },
    }


def _build_model(inputs: Sequence[str]) -> bytes:
    table = b"".join(struct.pack("<2f", *scores) for scores in WORDS.values())
    initializer = _number(1, len(WORDS)) + _number(1, 2) + _number(2, _FLOAT) + _text(8, "table") + _field(9, table)
    axes = _text(1, "axes") + _number(8, 1) + _number(20, 7)
    keep = _text(1, "keepdims") + _number(3, 0) + _number(20, 2)
    graph = (
        _field(1, _text(1, "table") + _text(1, inputs[0]) + _text(2, "scores") + _text(4, "Gather"))
        + _field(1, _text(1, "scores") + _text(2, "logits") + _text(4, "ReduceMax") + _field(5, axes) + _field(5, keep))
        + _text(2, "graph")
        + _field(5, initializer)
        + b"".join(_field(11, _value(name, _INT64, ["batch", "length"])) for name in inputs)
        + _field(12, _value("logits", _FLOAT, ["batch", 2]))
    )
    return _number(1, 8) + _field(7, graph) + _field(8, _text(1, "") + _number(2, 13))


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_field(1, _text(2, each) if isinstance(each, str) else _number(1, each)) for each in shape)
    return _text(1, name) + _field(2, _field(1, _number(1, kind) + _field(2, sizes)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _field(field, value.encode())


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
