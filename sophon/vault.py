"""Credential vault: the secrets that the HTTP tools attach to requests, by host and principal; no model sees them."""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import ToolError
from sophon.principals import LOCAL_USER
from sophon.security.credential_hosts import HostPattern, parse_host_pattern
from sophon.security.redaction.known_secrets import KNOWN_SECRETS, MARKER, MIN_CHARACTERS, compile_values
from sophon.security.reserved_headers import normalize_header_name
from sophon.settings.sections.vault import CredentialSettings

if TYPE_CHECKING:
    from sophon.tools.http.client import CredentialLookup

MAX_ENCODED_CHARACTERS = 6
"""Characters of a secret's character in an encoded text, such as `\\u002b`."""

_HEADER_VALUE = lazy_pattern(r"[\x20-\x7e]+")


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential with its resolved secret; `problem` says why it cannot be used, "" if it can."""

    name: str
    header: str
    value: str = field(repr=False)
    patterns: tuple[HostPattern, ...]
    users: frozenset[str] | None
    problem: str

    def belongs_to(self, scheme: str, host: str, port: int) -> bool:
        """Return whether a request to this destination may carry the credential."""
        return scheme == "https" and any(each.matches(host, port) for each in self.patterns)

    def may_be_used_by(self, principal: str) -> bool:
        """Return whether turns of the principal use the credential."""
        return self.users is None or principal in self.users


class CredentialVault:
    """All credentials of the settings. Secrets are resolved once, so that redaction knows them from the start."""

    def __init__(self, settings: Mapping[str, CredentialSettings], environment: Mapping[str, str]) -> None:
        secrets: set[str] = set()
        self.credentials = tuple(_resolve(name, each, environment, secrets) for name, each in settings.items())
        self._headers = frozenset(normalize_header_name(each.header) for each in self.credentials)
        self._pattern = compile_values(secrets)
        self._margin = MAX_ENCODED_CHARACTERS * max(map(len, secrets), default=0)

    def has_header(self, name: str) -> bool:
        """Return whether a credential is sent in a header of this name, so that a model must not set it."""
        return normalize_header_name(name) in self._headers

    def lookup(self, *, principal: str, data_owner: str, group: bool) -> "CredentialLookup":
        """Return the lookup for one turn: of its principal, in a group of the group, whose members all read along."""
        user = data_owner if group else principal or LOCAL_USER
        usable = [each for each in self.credentials if each.may_be_used_by(user)]

        def find_headers(scheme: str, host: str, port: int) -> Mapping[str, str]:
            return _headers_of([each for each in usable if each.belongs_to(scheme, host, port)])

        return find_headers

    def list_names(self, url: str, *, principal: str, data_owner: str, group: bool) -> list[str]:
        """Return the names of the credentials that a request to this URL would carry in a turn.

        None for an invalid URL; hops of a redirect are decided on their own.
        """
        user = data_owner if group else principal or LOCAL_USER
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            return []
        return [
            each.name
            for each in self.credentials
            if each.may_be_used_by(user) and each.belongs_to(parts.scheme, host, port)
        ]

    def redact(self, text: str, *, is_complete: bool = True) -> str:
        """Return the text without any secret, in whatever encoding `KNOWN_SECRETS` finds.

        The end of a text that is not complete is removed: it may be the beginning of a secret.
        """
        if self._pattern is None:
            return text
        redacted = self._pattern.sub(MARKER, text)
        return redacted if is_complete else redacted[: -self._margin]


def _headers_of(credentials: list[Credential]) -> Mapping[str, str]:
    for each in credentials:
        if each.problem:
            raise ToolError(f"the credential {each.name!r} of this host cannot be used; `sophon doctor` says why")
    return {each.header.lower(): each.value for each in credentials}


def _resolve(name: str, settings: CredentialSettings, environment: Mapping[str, str], secrets: set[str]) -> Credential:
    secret = settings.secret.resolve(environment) or ""
    problem = _find_problem(secret)
    if not problem:
        parts = set(_secret_parts(secret, settings.effective_prefix))
        secrets |= parts
        for part in parts:
            KNOWN_SECRETS.add(part)
    return Credential(
        name=name,
        header=settings.header,
        value="" if problem else f"{settings.effective_prefix}{secret}",
        patterns=tuple(map(parse_host_pattern, settings.hosts)),
        users=None if settings.users is None else frozenset(settings.users),
        problem=problem,
    )


def _find_problem(secret: str) -> str:
    """Return why a secret cannot be sent, without the secret."""
    if not secret:
        return "missing or empty"
    if len(secret) < MIN_CHARACTERS:
        return f"shorter than {MIN_CHARACTERS} characters, so redaction could not find it in a text"
    return "" if _HEADER_VALUE.fullmatch(secret) else "not one line of printable ASCII"


def _secret_parts(secret: str, prefix: str) -> Iterator[str]:
    """Yield what must not be shown: the secret, and the password in one of basic authentication."""
    yield secret
    if prefix.strip().lower() == "basic":
        try:
            decoded = b64decode(secret, validate=True).decode()
        except ValueError:
            return
        yield from (part for part in (decoded, decoded.partition(":")[2]) if len(part) >= MIN_CHARACTERS)
