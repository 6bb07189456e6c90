"""The YAML loader of `sophon.strict_yaml`; it imports PyYAML, which a host without YAML files does not need."""

from collections.abc import Hashable
from typing import Any

import yaml

from sophon.strict_yaml import StrictYamlError


class _Loader(yaml.SafeLoader):
    """Safe loader that refuses aliases, which can expand without bound, and repeated keys, of which one is ignored."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType] - untyped in the stubs
            raise StrictYamlError("aliases (*name) are not supported", self.line + 1)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                value: object = key.value
                if value in seen:
                    raise StrictYamlError(f"the key {value!r} occurs twice", _line_of(key))
                seen.add(value)
        return super().construct_mapping(node, deep=deep)


def load_with_lines(text: str) -> tuple[object, dict[str, int]]:
    """Return the content of a YAML document, and the lines of the keys of its outermost mapping, counted from 1.

    Raises StrictYamlError.
    """
    try:
        loader = _Loader(text)
        try:
            node: Any = loader.get_single_node()  # pyright: ignore[reportUnknownMemberType]
            if node is None:
                return None, {}
            content: object = loader.construct_document(node)  # pyright: ignore[reportUnknownMemberType]
        finally:
            loader.dispose()  # pyright: ignore[reportUnknownMemberType]
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


def _line_of(node: Any) -> int:
    return int(node.start_mark.line) + 1
