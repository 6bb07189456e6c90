"""Credentials, policies and rate limits that all turns share."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sophon._python.lazy_dataclass import dataclass
from sophon.operator_policy import UNRESTRICTED, OperatorPolicy
from sophon.security.sliding_windows import SlidingWindows
from sophon.vault import CredentialVault

if TYPE_CHECKING:
    from sophon.security.policy import Policy


@dataclass(frozen=True, slots=True)
class SecurityServices:
    """`vault` has the credentials that the HTTP tools attach; `rate_windows` count how often tools were used and
    messages sent lately, by default in this process alone. `operator_policy` says which calls only an operator may
    approve: a host knows its operators. `load_policy` returns the policy of the guard Shield, the same each time; it
    raises SettingsError if its file cannot be read.
    """

    vault: CredentialVault
    rate_windows: SlidingWindows
    load_policy: "Callable[[], Policy]"
    operator_policy: OperatorPolicy = UNRESTRICTED
