"""What is allowed to a user, and why."""

from collections.abc import Mapping
from typing import Any

from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.policy_overview import describe_access, describe_policy, try_call


class UserPolicy:
    """The rules as they concern one user."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    def describe(self) -> dict[str, Any]:
        """Return what is allowed to the user; for operators with the rules and settings behind it."""
        self._access.rights.require_scope("Read")
        return describe_policy(
            self._access.host.services,
            self._access.host.chain,
            self._access.user.id,
            is_operator=self._access.user.operator,
        )

    def try_call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the rules say about a call of the user, and what its risk leads to, if the tool is known."""
        self._access.rights.require_scope("Read")
        services = self._access.host.services
        trial = try_call(
            tool, arguments, settings=services.settings, folder=services.folder, principal=self._access.user.id
        ).to_json()
        return {**trial, **describe_access(services, tool, self._access.user.id)}
