"""SKILL.md folders: what is read, and each problem with its file and line."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon._python.front_matter import MAX_FILE_BYTES, split_front_matter
from sophon._python.strict_yaml import StrictYamlError, parse_yaml_with_lines
from sophon.skills.skill_package import read_skill_package

GOOD = """---
name: pdf
description: Fill
  forms.
license: MIT
allowed-tools: calculator, files.read
metadata:
  requires: [text]
  priority: "2.5"
---

# Steps
Do it.
"""


def write(folder: Path, text: str | bytes, name: str = "SKILL.md") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_a_skill_is_read_with_all_its_fields(tmp_path: Path) -> None:
    skill, problems = read_skill_package(write(tmp_path / "pdf", GOOD.replace("\n", "\r\n")))
    assert problems == []
    assert skill is not None
    assert (skill.name, skill.description, skill.license, skill.priority) == ("pdf", "Fill forms.", "MIT", 2.5)
    assert (skill.requires, skill.allowed_tools) == (("text",), ("calculator", "files.read"))
    assert skill.instructions == "# Steps\nDo it."


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("# no front matter", 1, "front matter"),
        ("---\nname: pdf\n", 1, "front matter"),
        ("---\n- a\n---\n", 2, "must be a mapping"),
        ("---\nname: pdf\ndescription: a\ncolour: red\n---\n", 4, "the key 'colour' is unknown"),
        ("---\nname: pdf\nname: pdf\ndescription: a\n---\n", 3, "occurs twice"),
        ("---\nname: pdf\ndescription: [a\n---\n", 4, "not valid YAML"),
        ("---\nname: &a pdf\ndescription: *a\n---\n", 3, "aliases"),
        ("---\nname: xls\ndescription: a\n---\n", 2, "must be that of its folder"),
        ("---\nname: Pdf\ndescription: a\n---\n", 2, "lower-case"),
        ("---\nname: 5\ndescription: a\n---\n", 2, "put it in quotes"),
        ("---\nname: pdf\n---\n", 1, "a description is missing"),
        ("---\nname: pdf\ndescription: 5\n---\n", 3, "must be text"),
        (f"---\nname: pdf\ndescription: {'a' * 1025}\n---\n", 3, "1025 characters"),
        ("---\nname: pdf\ndescription: a\nrequires: 5\n---\n", 4, "list of names"),
        ("---\nname: pdf\ndescription: a\npriority: -1\n---\n", 4, "from 0 to 1000"),
        ("---\nname: pdf\ndescription: a\npriority: .nan\n---\n", 4, "from 0 to 1000"),
        ("---\nname: pdf\ndescription: a\nmetadata: 5\n---\n", 4, "must be a mapping"),
        (b"---\nname: pdf\ndescription: \xff\n---\n", 0, "not UTF-8"),
        (b"x" * (MAX_FILE_BYTES + 1), 0, "larger"),
    ],
)
def test_a_problem_names_file_and_line(tmp_path: Path, text: str | bytes, line: int, problem: str) -> None:
    skill, problems = read_skill_package(write(tmp_path / "pdf", text))
    assert skill is None
    [found] = problems
    assert (found.path.name, found.line) == ("SKILL.md", line)
    assert problem in found.message
    assert str(found).endswith(found.message)


MANIFEST: dict[str, Any] = {
    "name": "pdf",
    "version": "1.0.0",
    "description": "Reads forms.",
    "runtime": "python",
    "entrypoint": "main.py",
    "tools": [{"name": "fill", "description": "Fill.", "parameters": {"type": "object", "properties": {}}}],
}


def test_a_manifest_alone_is_a_skill(tmp_path: Path) -> None:
    folder = write(write(tmp_path / "pdf", json.dumps(MANIFEST), "manifest.json"), "print()", "main.py")
    skill, problems = read_skill_package(folder)
    assert problems == []
    assert skill is not None
    assert skill.manifest is not None
    assert [(each.name, each.risk) for each in skill.manifest.tools] == [("fill", "high")]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"runtime": "csharp"}, "not supported"),
        ({"runtime": "perl"}, "runtime:"),
        ({"version": "1"}, "not a semantic version"),
        ({"entrypoint": "../main.py"}, "within the folder"),
        ({"entrypoint": "/bin/sh"}, "within the folder"),
        ({"entrypoint": "gone.py"}, "there is no file"),
        ({"tools": []}, "tools:"),
        ({"tools": [MANIFEST["tools"][0]] * 2}, "two tools are called 'fill'"),
        (
            {"tools": [{"name": "a", "description": "b", "parameters": {"type": "object", "properties": 5}}]},
            "JSON Schema",
        ),
        ({"tools": [{"name": "a", "description": "b", "parameters": {"type": "array"}}]}, "of the type object"),
        ({"credentials": [{"service": "x", "required": True}]}, "required credentials"),
        ({"colour": "red"}, "colour"),
        ({"name": "xls"}, "must be that of its folder"),
    ],
)
def test_a_problem_of_a_manifest_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    folder = write(tmp_path / "pdf", json.dumps({**MANIFEST, **change}, indent=1), "manifest.json")
    write(folder, "print()", "main.py")
    skill, problems = read_skill_package(folder)
    assert skill is None
    assert any(problem in each.message for each in problems), problems


def test_an_entry_point_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "pdf", json.dumps(MANIFEST), "manifest.json")
    outside = write(tmp_path, "print()", "other.py") / "other.py"
    (folder / "main.py").symlink_to(outside)
    assert "there is no file" in read_skill_package(folder)[1][0].message


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    front = split_front_matter(f"---\n{text}")
    assert front is None or len(front) == 2
    with suppress(StrictYamlError):
        _, lines = parse_yaml_with_lines(text)
        assert all(0 < line <= text.count("\n") + text.count("\r") + 2 for line in lines.values())
