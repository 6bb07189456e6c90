"""Law: what sets a feature or the host stands beside it, and the framework knows none of it."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import sophon_hosting
from sophon.settings import Settings
from sophon.settings.root import RootSection, load_settings_type
from sophon_hosting.features import FEATURES

ROOT = Path(__file__).parents[2]
BELOW = ("sophon", "middlewares/sophon_middlewares", "channels/sophon_channels")
"""The packages that stand below the host."""


def list_root_sections() -> dict[str, type[RootSection]]:
    """The sections of this distribution, by their names in Python."""
    types = {name: info.annotation for name, info in load_settings_type().model_fields.items()}
    return {name: kind for name, kind in types.items() if name not in Settings.model_fields}


def list_declared_classes() -> Iterator[str]:
    """The paths of all classes of the host that are sections of their own."""
    root = Path(sophon_hosting.__file__).parent
    for path in root.rglob("*.py"):
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and any(ast.unparse(each) == "RootSection" for each in node.bases):
                yield f"{module}:{node.name}"


@pytest.mark.parametrize("feature", FEATURES)
def test_the_sections_of_a_feature_stand_in_its_folder(feature: str) -> None:
    package = f"sophon_hosting.features.{feature}"
    for path in getattr(import_module(package), "SETTINGS", ()):
        assert path.partition(":")[0] == f"{package}.settings"


def test_every_section_of_the_host_is_one_of_the_settings() -> None:
    found = {f"{kind.__module__}:{kind.__qualname__}" for kind in list_root_sections().values()}
    assert found == set(list_declared_classes())


def test_no_package_below_the_host_reads_a_section_of_it() -> None:
    sections = list_root_sections()
    classes = "|".join(kind.__name__ for kind in sections.values())
    reads = re.compile(rf"\bsettings\.({'|'.join(sections)})\b|\b({classes})\b")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for package in BELOW
        for path in (ROOT / package).rglob("*.py")
        for match in reads.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
