"""Layers: later wins, mappings merge, lists and secrets are replaced."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sophon.settings.root import load_settings_type
from sophon.settings.sources.layers import SettingsLayer, find_source, merge_layers, normalize_keys

LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
KEYS = st.sampled_from("abc")
TREES = st.dictionaries(
    KEYS, st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner, min_size=1), max_leaves=6), max_size=3
)


def leaves(tree: Any, place: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every value that is no mapping, by its path."""
    if not isinstance(tree, dict):
        return {place: tree}
    return {path: leaf for key, each in tree.items() for path, leaf in leaves(each, (*place, key)).items()}


def is_touched(path: tuple[str, ...], by: Iterable[tuple[str, ...]]) -> bool:
    """Whether one of `by` says something at, above or below `path`."""
    return any(path[: len(other)] == other[: len(path)] for other in by)


@given(TREES, TREES)
def test_what_the_later_layer_says_stands(below: dict[str, Any], above: dict[str, Any]):
    result = leaves(merge_layers([SettingsLayer("below", below), SettingsLayer("above", above)]))
    for path, leaf in leaves(above).items():
        assert result[path] == leaf


@given(TREES, TREES)
def test_what_the_later_layer_leaves_out_stays(below: dict[str, Any], above: dict[str, Any]):
    result = leaves(merge_layers([SettingsLayer("below", below), SettingsLayer("above", above)]))
    said = leaves(above)
    for path, leaf in leaves(below).items():
        if not is_touched(path, said):
            assert result[path] == leaf


@given(TREES, TREES)
def test_merging_leaves_the_layers_as_they_are(below: dict[str, Any], above: dict[str, Any]):
    before = repr((below, above))
    merge_layers([SettingsLayer("below", below), SettingsLayer("above", above)])
    assert repr((below, above)) == before


def test_a_list_is_replaced_as_a_whole():
    layers = [
        SettingsLayer("below", {"Tools": {"Modules": ["a", "b"]}}),
        SettingsLayer("above", {"Tools": {"Modules": ["c"]}}),
    ]
    assert merge_layers(layers) == {"Tools": {"Modules": ["c"]}}


def test_a_secret_is_replaced_as_a_whole():
    layers = [SettingsLayer("below", {"Token": {"$env": "A"}}), SettingsLayer("above", {"Token": {"$file": "b"}})]
    assert merge_layers(layers) == {"Token": {"$file": "b"}}


def test_both_spellings_of_a_key_are_one_key():
    values = {"hub": {"port": 1}, "Budget": {"providers": {"max_depth": {"daily_tokens": 2}}}, "Unknown": {"port": 1}}
    assert normalize_keys(load_settings_type(), values) == {
        "Hub": {"Port": 1},
        "Budget": {"Providers": {"max_depth": {"DailyTokens": 2}}},
        "Unknown": {"port": 1},
    }


def test_the_source_of_a_mistake_is_the_last_layer_that_speaks_of_it():
    layers = [SettingsLayer("file", {"Hub": {"Port": 1, "Host": "a"}}), SettingsLayer("variable", {"Hub": {"Port": 2}})]
    assert find_source(layers, ("Hub", "Port")) == "variable"
    assert find_source(layers, ("Hub", "Host")) == "file"
    assert find_source(layers, ("Hub", "Users")) is None
