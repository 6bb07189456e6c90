"""What the commands say about dangerous settings, old data, and calls that need another operator."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon.approvals import ApprovalRequest
from sophon.messages import ToolCall
from sophon.services import Services
from sophon.settings import load_settings
from sophon.stores.grants.contract import StandingGrant
from sophon.tools.tool import Risk
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import report_startup_warnings, warning_lines
from sophon_hosting.dangerous_settings.catalog import list_dangers
from sophon_hosting.dangerous_settings.finder import find_dangerous_settings
from sophon_hosting.host_server import bind_address
from sophon_hosting.programs.serve_host import host_startup_lines
from sophon_hosting.programs.worker import worker_startup_lines
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore

Command = Callable[..., Any]
DANGEROUS = ("--set", "Approval.AutoApproveUpTo=Critical", "--set", 'Tools.AllowCidrs=["0.0.0.0/0"]')
USERS = '[{"Id": "ada", "Token": "a-long-token"}, {"Id": "olga", "Token": "another-token", "Operator": true}]'


def test_the_doctor_warns_of_dangerous_settings(sophon: Command) -> None:
    found = sophon("doctor", "--json", *DANGEROUS).json
    dangers = [each for each in found if each["id"] in list_dangers()]
    assert [(each["id"], each["text"].partition(":")[0]) for each in dangers] == [
        ("auto_approve_critical", "Approval.AutoApproveUpTo Critical"),
        ("internal_network", "Tools.AllowCidrs 0.0.0.0/0"),
    ]
    assert all(each["fix"] for each in dangers)


def test_the_audit_of_the_settings_lists_ids_and_fails_on_a_high_severity(sophon: Command) -> None:
    clean = sophon("audit", "settings")
    assert (clean.code, clean.out) == (0, "No dangerous settings.\n")
    medium = sophon("audit", "settings", "--json", "--set", "Guards.Audit.Enabled=false")
    assert (medium.code, [(each["id"], each["severity"]) for each in medium.json]) == (0, [("audit_off", "medium")])
    high = sophon("audit", "settings", *DANGEROUS, "--set", "Guards.Protection.Enabled=false")
    assert (high.code, [line.split() for line in high.out.splitlines() if not line.startswith(" ")]) == (
        1,
        [
            ["high", "auto_approve_critical"],
            ["high", "auto_approve_without_guards"],
            ["high", "protection_off"],
            ["medium", "internal_network"],
        ],
    )
    assert "       fix: set it to true, or remove it" in high.out.splitlines()


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


def test_every_start_shows_and_logs_dangers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = load_settings(environment={}, overrides=('Tools.AllowCidrs=["0.0.0.0/0"]', f"Hub.Users={USERS}"))
    options = GlobalOptions(tmp_path / "appsettings.json")
    lines = report_startup_warnings(settings, options, {})
    assert "Tools.AllowCidrs 0.0.0.0/0" in "\n".join(lines)
    assert "Tools.AllowCidrs 0.0.0.0/0" in caplog.text
    assert set(lines) <= set(worker_startup_lines(Services(), lines))


@pytest.mark.parametrize(("owner", "code"), [("local", 1), ("ada", 0)])
def test_without_a_host_four_eyes_hold_as_well(sophon: Command, folder: Path, owner: str, code: int) -> None:
    approval = asyncio.run(_add_critical_approval(folder / "data" / "sophon.db", owner))
    done = sophon("approvals", "approve", approval, "--set", "Approval.FourEyes=true", "--set", "Hub.Port=1")
    assert (done.code, "waiting for another operator" in done.err) == (code, code == 1)


def test_a_decision_names_its_session_and_shows_what_was_edited(sophon: Command, folder: Path) -> None:
    approval = asyncio.run(_add_critical_approval(folder / "data" / "sophon.db", "local", editable=True))
    decide = ("approvals", "approve", approval, "--arguments", '{"what": "less"}', "--set", "Hub.Port=1", "--session")
    refused = sophon(*decide, "another")
    assert (refused.code, f"approval '{approval}' is not of session 'another'" in refused.err) == (1, True)
    assert sophon(*decide, "s").code == 0
    shown = sophon("approvals", "show", approval, "--set", "Hub.Port=1").out
    assert "It runs with edited arguments:\n    what: less\n" in shown


def test_grants_are_listed_shown_and_revoked_without_a_host(sophon: Command, folder: Path) -> None:
    asyncio.run(_add_grant(folder / "data" / "sophon.db"))
    off = ("--set", "Hub.Port=1")
    listed = sophon("grants", "list", *off).out
    assert "grt_abc  ada in all conversations outside of groups, given by ada; until" in listed
    assert "\n  calls of pay with\n    to: anything\n" in listed
    assert sophon("grants", "list", "--json", *off).json[0]["tool"] == "pay"
    assert listed.startswith(sophon("grants", "show", "ab", *off).out.rstrip())
    assert "grt_abc is revoked: pay asks again" in sophon("grants", "revoke", "ab", *off).out
    assert "Nothing is approved in advance." in sophon("grants", "list", *off).out
    again = sophon("grants", "revoke", "grt_abc", *off)
    assert (again.code, "there is no grant 'grt_abc'" in again.err) == (1, True)


async def _add_grant(path: Path) -> None:
    path.parent.mkdir()
    store = SqlHostStore(f"sqlite:///{path}")
    await store.open()
    now = datetime.now(UTC)
    grant = StandingGrant(
        id="grt_abc",
        scope="always",
        principal="ada",
        session_id="",
        tool="pay",
        risk="high",
        pattern={"to": {}},
        description="calls of pay with\n  to: anything",
        granted_by="ada",
        granted_at=now,
        expires_at=now + timedelta(days=1),
    )
    await store.grants.add(grant)
    await store.close()


async def _add_critical_approval(path: Path, owner: str, *, editable: bool = False) -> str:
    path.parent.mkdir()
    store = SqlHostStore(f"sqlite:///{path}")
    await store.open()
    await store.runs.accept(Run("r", "s", owner, text="hello"))
    call = ToolCall("c", "wreck", {})
    request = ApprovalRequest.from_call(call, "r", Risk.CRITICAL, session_id="s", editable=editable)
    await store.approvals.get_or_create(request, datetime.now(UTC))
    await store.close()
    return request.id
