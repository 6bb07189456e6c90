"""Who may use a host over the network: users by their tokens, or one local user where the settings name none."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from sophon.errors import SettingsError, SophonError
from sophon.settings import HubSettings

LOCAL_USER = "local"
"""The one user of a host without `Hub.Users`; the terminal chat writes as it too."""

SHORTEST_TOKEN = 8
"""Characters. Shorter ones are guessed."""


class Unauthorized(SophonError):
    """No token, or one that nobody has."""

    code = "unauthorized"

    def __init__(self, token_given: bool) -> None:
        self.token_given = token_given
        super().__init__(
            "this token is not known; see Hub.Users in the settings"
            if token_given
            else "a token is needed; see Hub.Users in the settings"
        )


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who was let in. An operator watches and decides over the sessions of all."""

    id: str
    operator: bool = False


class Access:
    """The users by their tokens. Without any, everybody who reaches the host is the local user, an operator."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = {token.encode(): user for token, user in users.items()}

    @classmethod
    def of(cls, hub: HubSettings, environment: Mapping[str, str]) -> Self:
        """The users of the settings. Raises SettingsError for a token that is missing, too short, or used twice."""
        users: dict[str, User] = {}
        problems: list[str] = []
        for position, each in enumerate(hub.users):
            where = f"Hub.Users[{position}]"
            token = each.token.resolve(environment) or ""
            if not token:
                problems.append(f"{where}.Token: the {each.token.origin} is missing or empty")
            elif len(token) < SHORTEST_TOKEN:
                problems.append(f"{where}.Token: it has {len(token)} characters; give it at least {SHORTEST_TOKEN}")
            elif token in users:
                problems.append(f"{where}.Token: {users[token].id} has the same one")
            users.setdefault(token, User(each.id, each.operator))
        if problems:
            raise SettingsError(problems)
        return cls(users)

    @property
    def open(self) -> bool:
        """Whether nobody needs a token."""
        return not self._users

    @property
    def operators(self) -> frozenset[str]:
        """Who decides over the sessions of all."""
        return (
            frozenset(user.id for user in self._users.values() if user.operator)
            if self._users
            else frozenset((LOCAL_USER,))
        )

    def user(self, token: str | None) -> User:
        """Whose token it is. Raises Unauthorized."""
        if not self._users:
            return User(LOCAL_USER, operator=True)
        if token:
            given = token.encode("utf-8", "surrogatepass")
            # All are compared, each in constant time: how long it takes tells nothing.
            found = [user for known, user in self._users.items() if hmac.compare_digest(known, given)]
            if found:
                return found[0]
        raise Unauthorized(bool(token))
