"""Law: what sets a feature stands in its folder, and every section of the host is one of the settings.

That nothing below the host reads such a section is a matter of imports and types: `Settings` has no field of them.
"""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import sophon_hosting
from sophon.settings import Settings
from sophon.settings.root import RootSection, load_settings_type
from sophon_hosting.features import FEATURES
from tests.tables import table


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


@table("feature", FEATURES)
def test_the_sections_of_a_feature_stand_in_its_folder(feature: str) -> None:
    package = f"sophon_hosting.features.{feature}"
    for path in getattr(import_module(package), "SETTINGS", ()):
        assert path.partition(":")[0] == f"{package}.settings"


def test_every_section_of_the_host_is_one_of_the_settings() -> None:
    found = {f"{kind.__module__}:{kind.__qualname__}" for kind in list_root_sections().values()}
    assert found == set(list_declared_classes())
