"""Settings of the credential vault: tokens that the HTTP tools attach, and that no model sees."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Annotated

from sophon._python.lazy_pattern import lazy_pattern
from sophon._python.value_rules import ValueRules
from sophon.security.credential_hosts import parse_host_pattern
from sophon.security.reserved_headers import is_header_name, is_reserved_header, normalize_header_name
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection, build_value_error

AUTHORIZATION = "authorization"
OTHER_CLIENT_HEADERS = frozenset({"accept", "range", "user-agent"})
"""Headers of requests that hold no credential, beside those that begin with `content-`."""

_PREFIX = lazy_pattern(r"[\x21-\x7e][\x20-\x7e]*|")


def _validate_host(value: str) -> str:
    try:
        parse_host_pattern(value)
    except ValueError as error:
        raise build_value_error(str(error)) from None
    return value


def _validate_header(value: str) -> str:
    if not is_header_name(value):
        raise build_value_error(f"{value!r} is not a header name")
    plain = normalize_header_name(value)
    if is_reserved_header(value) or plain in OTHER_CLIENT_HEADERS or plain.startswith("content-"):
        raise build_value_error(f"{value!r} is set by the HTTP client itself; name the header of the credential")
    return value


def _validate_prefix(value: str) -> str:
    if _PREFIX.fullmatch(value) is None:
        raise build_value_error("printable ASCII that does not begin with a blank is expected")
    return value


class CredentialSettings(SettingsSection):
    """One credential: its secret, the hosts that it belongs to, and who may use it."""

    secret: Secret = Field(description="The token; at least 8 characters.")
    hosts: tuple[Annotated[str, ValueRules(after=_validate_host)], ...] = Field(
        min_length=1,
        description="Hosts that receive it, over https: `api.example.com`, `*.example.com` (every name below "
        "example.com, and not example.com itself); for another port than 443 `api.example.com:8443`.",
    )
    header: Annotated[str, ValueRules(after=_validate_header)] = Field(
        default="Authorization", description="Name of the header."
    )
    prefix: Annotated[str, ValueRules(after=_validate_prefix)] | None = Field(
        default=None, description="Text in front of the token; null means `Bearer ` for Authorization, else nothing."
    )
    users: tuple[Annotated[str, ValueRules(pattern=r"\S")], ...] | None = Field(
        default=None,
        description="Principals whose turns use it, such as `anna`, `telegram:5` or, in a group, "
        "`telegram:chat:-100`; null: all.",
    )

    @property
    def effective_prefix(self) -> str:
        """The text in front of the token."""
        if self.prefix is not None:
            return self.prefix
        return "Bearer " if self.header.lower() == AUTHORIZATION else ""


def find_ambiguous_credentials(vault: Mapping[str, CredentialSettings]) -> Iterator[tuple[str, str]]:
    """Yield (name, sentence) for each credential that would set the same header of the same request as another."""
    for (first, one), (second, other) in combinations(vault.items(), 2):
        if normalize_header_name(one.header) != normalize_header_name(other.header):
            continue
        if one.users is not None and other.users is not None and not set(one.users) & set(other.users):
            continue
        for host in other.hosts:
            if any(parse_host_pattern(host).overlaps(parse_host_pattern(each)) for each in one.hosts):
                yield second, f"{first!r} sets {one.header} for {host} too; only one may, for each host and user"
                break
