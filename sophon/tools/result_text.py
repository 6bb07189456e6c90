"""Conversion of a tool's return value to the text that the model reads."""

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeGuard, cast

import orjson

from sophon.tools.untrusted_text import ExternalText

if TYPE_CHECKING:
    from pydantic import BaseModel

# Dataclasses pass through, because a picture is one.
_JSON_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


def result_to_text(answer: object) -> str:
    """Convert a tool's return value to text: a text unchanged, None to the empty text, anything else to JSON.

    Values that JSON cannot represent become their `str`. A lone surrogate, which UTF-8 cannot encode, becomes `?`.
    Raises ValueError, with what to return instead, for bytes, pictures, generators, objects without a text, and
    a value that contains itself.
    """
    if isinstance(answer, str):
        text = answer if answer.isascii() else answer.encode("utf-8", "replace").decode()
        return ExternalText(text) if isinstance(answer, ExternalText) else text
    if answer is None:
        return ""
    try:
        return orjson.dumps(answer, default=_to_jsonable, option=_JSON_OPTIONS).decode()
    except TypeError as error:
        if isinstance(error.__cause__, ValueError):
            raise error.__cause__ from None
    try:  # an integer of more than 64 bits, a lone surrogate, or a non-scalar key
        return json.dumps(_with_text_keys(answer), default=_to_jsonable)
    except RecursionError:
        raise ValueError("the tool returned a value that contains itself, or is nested too deeply") from None


def _to_jsonable(value: object) -> object:
    if _is_pydantic_model(value):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return list(cast(Iterable[object], value))
    if isinstance(value, bytes | bytearray | memoryview):
        raise ValueError(  # noqa: TRY004 - a TypeError is what orjson raises for a value that json.dumps can take
            "the tool returned bytes: decode them to a text, or save them to a file and return its path"
        )
    images = sys.modules.get("sophon.images")  # where it is not loaded, nothing is a picture
    if images is not None and isinstance(value, images.Image):
        raise ValueError("the tool returned an Image: save it to a file and return its path, or describe it")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value) if not each.name.startswith("_")]
        return {name: getattr(value, name) for name in names}
    text = str(value)
    if type(value).__str__ is object.__str__ and text.startswith("<") and text.endswith(">"):
        raise ValueError(
            f"the tool returned an object of the type {type(value).__name__}, which has no text: return a text, a "
            f"list, a dict or a dataclass"
        )
    return text


def _is_pydantic_model(value: object) -> "TypeGuard[BaseModel]":
    pydantic = sys.modules.get("pydantic")  # where it is not loaded, nothing is a model
    return pydantic is not None and isinstance(value, pydantic.BaseModel)


def _with_text_keys(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(each) for key, each in cast(Mapping[object, object], value).items()}
    if isinstance(value, list | tuple):
        return [_with_text_keys(each) for each in cast(Iterable[object], value)]
    return value
