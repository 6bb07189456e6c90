"""Patterns that are compiled at first use: they behave as compiled ones, and all of the framework can be compiled."""

import importlib
import pkgutil
import re

import pytest

import sophon
import sophon_middlewares
from sophon._python.lazy_pattern import LazyPattern, lazy_pattern


def test_a_lazy_pattern_does_what_a_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern(r"(?P<word>[a-z]+)", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)", re.IGNORECASE)
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)
    assert lazy.sub("x", "Ab 1 cd") == compiled.sub("x", "Ab 1 cd") == "x 1 x"
    assert lazy.findall("Ab 1 cd") == compiled.findall("Ab 1 cd")
    assert lazy.fullmatch("Ab 1") is None


def test_it_is_compiled_at_its_first_use() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.search("")
    with pytest.raises(AttributeError):
        _ = wrong.__wrapped__  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType]


def test_every_lazy_pattern_of_the_framework_can_be_compiled() -> None:
    found = 0
    for package in (sophon, sophon_middlewares):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.startswith("sophon.models.providers.litellm"):
                continue
            for value in vars(importlib.import_module(info.name)).values():
                if isinstance(value, LazyPattern):
                    found += 1
                    assert callable(value.search)
    assert found > 70
