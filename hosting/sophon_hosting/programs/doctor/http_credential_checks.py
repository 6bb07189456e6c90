"""Check of `sophon doctor` on the credential vault: names, hosts and users of the credentials, never their values."""

from collections.abc import Iterator, Mapping

from sophon.settings import Settings
from sophon.vault import CredentialVault
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning

SHARED_FIX = "name in Users who may use it; null means everybody who may write to this host"


def check_credentials(settings: Settings, environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Report each credential, whether its secret resolves, and whether several users share it."""
    for credential in CredentialVault(settings.vault, environment).credentials:
        chosen = settings.vault[credential.name]
        users = "everybody" if chosen.users is None else ", ".join(chosen.users) or "nobody"
        source = chosen.secret.source_description
        text = (
            f"{credential.name}: {chosen.header} for {', '.join(chosen.hosts)}, used by {users}; secret from {source}"
        )
        if credential.problem:
            fix = f"correct the secret from {source}; until then requests to these hosts fail"
            yield failed("vault", f"{text}: {credential.problem}", fix)
        elif chosen.users is None and settings.has_several_users():
            yield warning("vault", f"{text}: present", SHARED_FIX)
        else:
            yield ok("vault", f"{text}: present")
