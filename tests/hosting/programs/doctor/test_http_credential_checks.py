"""`sophon doctor` names the credentials, their hosts and users, and whether the secret resolves; never values."""

from typing import Any

from sophon.settings import Settings
from sophon_hosting.programs.doctor.findings import DoctorFinding
from sophon_hosting.programs.doctor.http_credential_checks import check_credentials

TOKEN = "sesame-open-1234"
SEVERAL = [{"Id": "anna", "Token": "anna-token-0123456789"}, {"Id": "ben", "Token": "ben-token-01234567890"}]


def check(environment: dict[str, str], users: list[dict[str, str]] | None = None, **values: object) -> DoctorFinding:
    credential: dict[str, Any] = {"Secret": {"$env": "GITHUB_TOKEN"}, "Hosts": ["api.github.com"], **values}
    settings = Settings.from_mapping({"Vault": {"github": credential}, "Hub": {"Users": users or []}})
    [found] = check_credentials(settings, environment)
    assert TOKEN not in f"{found}"
    return found


def test_a_credential_is_described_without_its_value() -> None:
    found = check({"GITHUB_TOKEN": TOKEN}, Users=["anna"])
    assert (found.id, found.grade) == ("vault", "ok")
    assert found.text == (
        "github: Authorization for api.github.com, used by anna; secret from environment variable GITHUB_TOKEN: present"
    )


def test_a_secret_that_does_not_resolve_fails() -> None:
    found = check({})
    assert found.grade == "failed"
    assert found.text.endswith("missing or empty")
    assert found.fix.startswith("correct the secret from environment variable GITHUB_TOKEN;")
    assert check({"GITHUB_TOKEN": "short"}).text.endswith("could not find it in a text")


def test_a_credential_of_everybody_warns_where_there_are_several() -> None:
    assert check({"GITHUB_TOKEN": TOKEN}).grade == "ok"
    found = check({"GITHUB_TOKEN": TOKEN}, SEVERAL)
    assert found.grade == "warning"
    assert "used by everybody" in found.text
