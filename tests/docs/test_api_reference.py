"""The API reference names every public module that exists and every name that the packages export."""

import importlib
import re
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
MODULES = [
    name
    for page in sorted(REFERENCE.glob("*.md"))
    for name in re.findall(r"^\.\. automodule:: (\S+)$", page.read_text(), re.MULTILINE)
]


def documented() -> set[object]:
    found: set[object] = set()
    for name in MODULES:
        module = importlib.import_module(name)
        found |= {id(value) for value in vars(module).values() if getattr(value, "__module__", None) == name}
    return found


@pytest.mark.parametrize("package", ["sophon", "sophon_middlewares", "sophon.testing"])
def test_every_exported_name_is_in_the_reference(package: str) -> None:
    exports = importlib.import_module(package)
    known = documented()
    missing = [name for name in exports.__all__ if name != "__version__" and id(getattr(exports, name)) not in known]
    assert missing == (["Next"] if package == "sophon" else [])  # a type alias has no module of its own


def test_a_module_is_documented_once() -> None:
    assert len(MODULES) == len(set(MODULES))
    assert {"sophon.chain.pipeline", "sophon.tools.tool"} <= set(MODULES)
