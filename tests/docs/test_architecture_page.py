"""docs/architecture.md names every package, and each class, method and module that it names exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PACKAGES = {
    "sophon": ROOT / "sophon",
    "sophon_middlewares": ROOT / "middlewares" / "sophon_middlewares",
    "sophon_channels": ROOT / "channels" / "sophon_channels",
    "sophon_hosting": ROOT / "hosting" / "sophon_hosting",
}


def members(classes: set[str]) -> set[str]:
    """`Class.method` of these classes, and the plain names of all classes and functions."""
    found: set[str] = set()
    for package in PACKAGES.values():
        for path in package.rglob("*.py"):
            text = path.read_text()
            defined = re.findall(r"^ *(?:class|def|async def) (\w+)", text, re.MULTILINE)
            found |= set(defined)
            for node in ast.walk(ast.parse(text)) if not classes.isdisjoint(defined) else ():
                if isinstance(node, ast.ClassDef):
                    found |= {f"{node.name}.{part.name}" for part in node.body if hasattr(part, "name")}
    return found


def test_every_class_and_function_on_the_path_of_a_message_exists() -> None:
    path = PAGE[PAGE.index("## The path of one message") :]
    named = set(re.findall(r"`([A-Z]\w+(?:\.\w+)?)`", path)) | set(re.findall(r"`([a-z]+_[a-z_]+)`", path))
    assert len(named) > 50
    assert named - members({each.partition(".")[0] for each in named if "." in each}) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_listed(package: str) -> None:
    folders = {path.parent.name for path in PACKAGES[package].glob("*/__init__.py")}
    section = PAGE[PAGE.index(f"| `{package}.` |") :].partition("\n\n")[0]
    assert folders - set(re.findall(r"`(\w+)`", section)) == set()


def test_each_package_and_module_is_in_one_row() -> None:
    table = PAGE[PAGE.index("| `sophon.` |") : PAGE.index("## The path of one message")]
    for section in (part for part in table.split("\n\n") if part.startswith("|")):
        named = [name for row in section.splitlines()[2:] for name in re.findall(r"`([\w.]+)`", row.split("|")[1])]
        assert sorted(named) == sorted(set(named))


def test_the_file_of_each_step_exists() -> None:
    steps = PAGE[PAGE.index("## The path of one message") :]
    files = re.findall(r"`((?:sophon|sophon_\w+)/[\w/]+\.py)`", steps)
    assert len(files) >= 12
    assert [file for file in files if not (PACKAGES[file.partition("/")[0]] / file.partition("/")[2]).is_file()] == []


def test_the_path_of_a_message_has_twelve_steps() -> None:
    assert re.findall(r"^(\d+)\. \*\*", PAGE, flags=re.MULTILINE) == [str(number) for number in range(1, 13)]
