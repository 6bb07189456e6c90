"""What the commands say about dangerous settings, old data, and calls that need another operator."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sophon.approvals import ApprovalRequest
from sophon.messages import ToolCall
from sophon.services import Services
from sophon.settings import find_dangerous_settings, load_settings
from sophon.stores.runs.contract import Run
from sophon.stores.sql_store import SqlStore
from sophon.tools.tool import Risk
from sophon_hosting.cli.commands.serve import host_startup_lines
from sophon_hosting.cli.commands.worker import worker_startup_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import report_startup_warnings, warning_lines
from sophon_hosting.host_server import bind_address

Command = Callable[..., Any]
DANGEROUS = ("--set", "Approval.AutoApproveUpTo=Critical", "--set", 'Tools.AllowCidrs=["0.0.0.0/0"]')
USERS = '[{"Id": "ada", "Token": "a-long-token"}, {"Id": "olga", "Token": "another-token", "Operator": true}]'


def test_the_doctor_warns_of_dangerous_settings(sophon: Command) -> None:
    found = sophon("doctor", "--json", *DANGEROUS).json
    texts = [each["text"] for each in found if each["id"] == "settings.risk"]
    assert [text.partition(":")[0] for text in texts] == [
        "Approval.AutoApproveUpTo Critical",
        "Tools.AllowCidrs 0.0.0.0/0",
    ]
    assert all(each["fix"] for each in found if each["id"] == "settings.risk")


def test_validating_settings_names_what_they_permit(sophon: Command) -> None:
    assert (
        "WARNING Approval.AutoApproveUpTo Critical: a model runs any command"
        in sophon("config", "validate", *DANGEROUS).out
    )
    assert len(sophon("config", "validate", "--json", *DANGEROUS).json["warnings"]) == 2
    assert sophon("config", "validate").out == "The settings are valid.\n"


def test_the_start_of_a_host_names_what_the_settings_permit() -> None:
    services = Services(settings={"Approval": {"AutoApproveUpTo": "Critical"}})
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        lines = host_startup_lines(services, address, warning_lines(find_dangerous_settings(services.settings)))
    assert any("WARNING Approval.AutoApproveUpTo Critical: " in line for line in lines)
    assert any("docs/trust-model.md" in line for line in lines)


def test_every_start_shows_and_logs_dangers_and_old_data(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "data" / "files").mkdir(parents=True)
    (tmp_path / "data" / "files" / "notes.txt").write_text("mine")
    settings = load_settings(environment={}, overrides=('Tools.AllowCidrs=["0.0.0.0/0"]', f"Hub.Users={USERS}"))
    options = GlobalOptions(tmp_path / "appsettings.json")
    lines = report_startup_warnings(settings, options, {})
    assert (
        [text for text in ("Tools.AllowCidrs 0.0.0.0/0", "sophon migrate") if text in "\n".join(lines)]
        == [text for text in ("Tools.AllowCidrs 0.0.0.0/0", "sophon migrate") if text in caplog.text]
        == ["Tools.AllowCidrs 0.0.0.0/0", "sophon migrate"]
    )
    assert set(lines) <= set(worker_startup_lines(Services(), lines))


def test_files_of_everybody_are_reported_shown_and_only_then_moved(sophon: Command, folder: Path) -> None:
    (folder / "data" / "files").mkdir(parents=True)
    (folder / "data" / "files" / "notes.txt").write_text("mine")
    users = ("--set", f"Hub.Users={USERS}")
    assert "sophon migrate" in next(
        each["text"] for each in sophon("doctor", "--json", *users).json if each["id"] == "migration"
    )
    assert "Left alone: 1" in sophon("migrate", *users).out
    shown = sophon("migrate", "--files-to", "ada", *users).out
    assert "files notes.txt: nobody -> ada" in shown
    assert "Nothing was changed" in shown
    assert (folder / "data/files/notes.txt").exists()
    assert "Moved: 1" in sophon("migrate", "--files-to", "ada", "--apply", *users).out
    assert (folder / "data/files/principals/ada/notes.txt").read_text() == "mine"
    assert sophon("migrate", *users).out == "There is nothing to migrate.\n"
    assert sophon("migrate", "--json", *users).json == {"applied": False, "moves": [], "kept": []}


def test_files_are_given_to_nobody_who_does_not_exist(sophon: Command) -> None:
    refused = sophon("migrate", "--files-to", "eve", "--set", f"Hub.Users={USERS}")
    assert refused.code == 1
    assert "'eve' is no user in Hub.Users (ada, olga)" in refused.err


@pytest.mark.parametrize(("owner", "code"), [("local", 1), ("ada", 0)])
def test_without_a_host_four_eyes_hold_as_well(sophon: Command, folder: Path, owner: str, code: int) -> None:
    approval = asyncio.run(_add_critical_approval(folder / "data" / "sophon.db", owner))
    done = sophon("approvals", "approve", approval, "--set", "Approval.FourEyes=true", "--set", "Hub.Port=1")
    assert (done.code, "waiting for another operator" in done.err) == (code, code == 1)


async def _add_critical_approval(path: Path, owner: str) -> str:
    path.parent.mkdir()
    store = SqlStore(f"sqlite:///{path}")
    await store.open()
    await store.runs.accept(Run("r", "s", owner, text="hello"))
    request = ApprovalRequest.from_call(ToolCall("c", "wreck", {}), "r", Risk.CRITICAL, session_id="s")
    await store.approvals.get_or_create(request, datetime.now(UTC))
    await store.close()
    return request.id
