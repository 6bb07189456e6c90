"""`sophon doctor` says whether commands run in the sandbox, and what a person is asked about without it."""

import json
from pathlib import Path

import pytest

from sophon import Services, tool
from sophon.processes.sandbox_policy import Sandbox
from sophon.skills.catalog import SkillCatalog
from sophon_hosting.programs.doctor.chain_and_tool_checks import check_commands
from sophon_hosting.programs.doctor.findings import DoctorFinding
from sophon_hosting.programs.doctor.sandbox_checks import (
    SANDBOX_FIX,
    check_sandbox,
    check_skill_programs,
    needs_sandbox,
)

WORKING = Sandbox("/usr/bin/bwrap")


def check(folder: Path, sandbox: Sandbox, files_root: str = "data/files", **settings: object) -> list[DoctorFinding]:
    values = {"Tools": {"FilesRoot": files_root}, "Guards": {"Sandbox": {"Enabled": True, **settings}}}
    return list(check_sandbox(Services(folder=folder, settings=values), sandbox))


def test_a_working_sandbox_is_described(tmp_path: Path) -> None:
    [found] = check(tmp_path, WORKING)
    assert (found.id, found.grade) == ("sandbox", "ok")
    assert "without network" in found.text


def test_without_a_sandbox_doctor_says_that_each_command_asks(tmp_path: Path) -> None:
    [found] = check(tmp_path, Sandbox("bwrap", problem="bubblewrap (bwrap) is not installed"))
    assert found.grade == "warning"
    assert "is not installed; each command and each program asks a person" in found.text
    assert "apt install bubblewrap" in found.fix


def test_custom_tools_need_the_sandbox_whatever_its_guard(tmp_path: Path) -> None:
    services = Services(folder=tmp_path, settings={"CustomTools": {"Enabled": True}})
    assert needs_sandbox(services)
    [found] = check_sandbox(services, Sandbox("bwrap", problem="bubblewrap (bwrap) is not installed"))
    assert (found.grade, found.fix) == ("warning", SANDBOX_FIX)
    assert "is not installed; custom tools can neither be created nor called" in found.text


def test_a_program_of_a_skill_needs_the_sandbox_of_the_guard(tmp_path: Path) -> None:
    @tool(sandboxed=True)
    def run() -> str:
        """Run a program."""
        return ""

    off = {"Tools": {"Disabled": ["system.execute"]}}
    on = {**off, "Guards": {"Sandbox": {"Enabled": True}}}
    found = [
        needs_sandbox(Services(folder=tmp_path, tools=tools, settings=s)) for tools in ([], [run]) for s in (off, on)
    ]
    assert found == [False, False, False, True]


def install_skill(folder: Path) -> Path:
    skill = folder / "skills" / "tax-forms"
    skill.mkdir(parents=True)
    tool_of_skill = {"name": "fill", "description": "Fill in a form.", "riskLevel": "low"}
    manifest = {"name": "tax-forms", "version": "1.0.0", "description": "Forms.", "runtime": "python"}
    (skill / "manifest.json").write_text(json.dumps({**manifest, "entrypoint": "main.py", "tools": [tool_of_skill]}))
    (skill / "main.py").write_text("")
    return skill


def test_programs_of_skills_are_named_while_they_have_the_rights_of_the_host(tmp_path: Path) -> None:
    install_skill(tmp_path)
    off = {"Skills": {"Directories": ["skills"]}, "Tools": {"Disabled": ["system.execute"]}}
    on = {**off, "Guards": {"Sandbox": {"Enabled": True}}}
    plain, confined = (
        Services(folder=tmp_path, settings=s, skills=SkillCatalog([tmp_path / "skills"])) for s in (off, on)
    )
    [found] = check_skill_programs(plain)
    assert (found.grade, "(tax-forms.fill) have the rights of this account" in found.text) == ("warning", True)
    assert (needs_sandbox(plain), needs_sandbox(confined)) == (False, True)
    assert list(check_skill_programs(confined)) == []
    assert plain.assistant.skills is not None
    plain.assistant.skills.set_enabled("tax-forms", False)
    assert list(check_skill_programs(plain)) == []


@pytest.mark.parametrize(
    ("files_root", "settings"), [(".", {}), ("data/files", {"Writable": ["."]}), ("data/files", {"Readable": ["/"]})]
)
def test_a_folder_with_files_of_the_host_fails(tmp_path: Path, files_root: str, settings: dict[str, object]) -> None:
    (tmp_path / "appsettings.json").write_text("{}")
    [found] = check(tmp_path, WORKING, files_root, **settings)
    assert found.grade == "failed"
    assert "appsettings.json, a file of the host" in found.text


def test_the_rights_of_the_host_are_a_warning_only_without_a_sandbox(tmp_path: Path) -> None:
    enabled = Services(folder=tmp_path, settings={"Guards": {"Sandbox": {"Enabled": True}}})
    assert list(check_commands(enabled)) == []
    assert "has the rights of this account" in next(each.text for each in check_commands(Services()))
