"""`sophon doctor` says whether commands run in the sandbox, and what a person is asked about without it."""

from pathlib import Path

import pytest

from sophon import Services
from sophon.processes.sandbox_policy import Sandbox
from sophon_hosting.cli.doctor.checks import check_commands
from sophon_hosting.cli.doctor.findings import DoctorFinding
from sophon_hosting.cli.doctor.sandbox_checks import check_sandbox

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
    assert "is not installed; each command asks a person" in found.text
    assert "apt install bubblewrap" in found.fix


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
