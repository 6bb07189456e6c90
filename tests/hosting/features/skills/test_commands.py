"""`sophon skills`: install, list, switch and check; bad input gives one clear error."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]


def write_skill(folder: Path, name: str, description: str = "Fills forms.") -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.")
    return folder / name


def test_a_skill_is_installed_switched_and_shown(sophon: Command, tmp_path: Path) -> None:
    source = write_skill(tmp_path / "downloads", "pdf")
    assert "There are no skills" in sophon("skills", "list").out
    assert "pdf is installed" in sophon("skills", "install", str(source)).out
    again = sophon("skills", "install", str(source))
    assert (again.code, "--replace" in again.err) == (1, True)
    sophon("skills", "install", str(source), "--replace")
    assert "off from the next turn" in sophon("skills", "disable", "pdf").out
    [item] = json.loads(sophon("skills", "list", "--json").out)["items"]
    assert (item["name"], item["enabled"]) == ("pdf", False)
    switched = json.loads(sophon("skills", "enable", "pdf", "--json").out)
    assert (switched["name"], switched["enabled"]) == ("pdf", True)
    assert json.loads(sophon("skills", "disable", "pdf", "--json").out)["enabled"] is False
    assert json.loads(sophon("skills", "install", str(source), "--replace", "--json").out)["folder"].endswith("pdf")
    sophon("skills", "enable", "pdf")
    assert "Do it." in sophon("skills", "show", "pdf").out
    assert "there is no skill 'pfd'" in sophon("skills", "show", "pfd").err


def test_problems_are_named_with_file_and_line(sophon: Command, tmp_path: Path) -> None:
    bad = write_skill(tmp_path / "downloads", "pdf", "[a")
    checked = sophon("skills", "check", str(bad))
    assert (checked.code, "SKILL.md:4: it is not valid YAML" in checked.out) == (1, True)
    as_json = sophon("skills", "check", str(bad), "--json")
    [problem] = json.loads(as_json.out)["problems"]
    assert (as_json.code, problem["path"], problem["line"]) == (1, str(bad / "SKILL.md"), 4)
    assert json.loads(sophon("skills", "check", "--json").out) == {"problems": []}
    assert "SKILL.md:4: " in sophon("skills", "install", str(bad)).err
    assert "there is no such folder" in sophon("skills", "check", str(tmp_path / "gone")).out
    assert "No problem was found" in sophon("skills", "check").out
