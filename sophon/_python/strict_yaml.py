"""YAML of files that people write: safe, without aliases and repeated keys, with the line of each key.

PyYAML is imported with the first text: a host without YAML files does not need it.
"""

from collections.abc import Hashable
from functools import cache
from typing import Any


class StrictYamlError(ValueError):
    """Text that cannot be read as YAML. `line` counts from 1 within the text; 0 if it is not known."""

    def __init__(self, message: str, line: int = 0) -> None:
        self.line = line
        super().__init__(message)


def parse_yaml(text: str) -> object:
    """Return the content of a YAML document; None if it is empty. Raises StrictYamlError."""
    return parse_yaml_with_lines(text)[0]


def parse_yaml_with_lines(text: str) -> tuple[object, dict[str, int]]:
    """Return the content of a YAML document, and the lines of the keys of its outermost mapping, counted from 1.

    Raises StrictYamlError.
    """
    import yaml

    try:
        loader = _loader_class()(text)
        try:
            node: Any = loader.get_single_node()
            if node is None:
                return None, {}
            content: object = loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        sentence = " ".join(str(error.problem or error).split())
        raise StrictYamlError(f"it is not valid YAML: {sentence}", mark.line + 1 if mark else 0) from error
    except StrictYamlError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise StrictYamlError(f"it is not valid YAML: {' '.join(str(error).split())}") from error
    lines: dict[str, int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                lines[str(key.value)] = _line_of(key)
    return content, lines


@cache
def _loader_class() -> Any:
    """Return the safe loader that refuses aliases, which can expand without bound, and repeated keys."""
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType] - untyped in the stubs
                raise StrictYamlError("aliases (*name) are not supported", self.line + 1)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            seen: set[object] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    value: object = key.value
                    if value in seen:  # of the two, one would be ignored
                        raise StrictYamlError(f"the key {value!r} occurs twice", _line_of(key))
                    seen.add(value)
            return super().construct_mapping(node, deep=deep)

    return Loader


def _line_of(node: Any) -> int:
    return int(node.start_mark.line) + 1
