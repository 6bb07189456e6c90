"""Verification of JSON Web Tokens (RFC 7519) of configured issuers, by PyJWT.

The algorithm is that of the settings and never that of the token, so that a token can neither name `none` nor have a
public key taken for a shared secret. Times are checked here, because PyJWT reads the system's clock, not the host's.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SettingsError
from sophon_hosting.settings.hub import HubIssuerSettings

MAX_TOKEN_CHARACTERS = 16_384
"""Maximum length of a token; nothing longer is parsed."""

MIN_SHARED_SECRET_BYTES = 32
"""Minimum length of the key of HS256 (RFC 7518, 3.2)."""

REQUIRED_CLAIMS = ("iss", "aud", "sub", "exp")


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """An issuer whose tokens are accepted for one audience; `key` is one that PyJWT has prepared."""

    issuer: str
    audience: str
    algorithm: str
    key: Any


@dataclass(frozen=True, slots=True)
class VerifiedJwt:
    """What a verified token says: the id of a user, and until when."""

    subject: str
    expires_at: datetime


class JwtVerifier:
    """Verifies tokens of any of the issuers; an issuer may be there twice, with two keys, while keys are changed."""

    def __init__(self, issuers: Sequence[TrustedIssuer]) -> None:
        self._issuers = tuple(issuers)

    def verify(self, token: str, now: datetime) -> VerifiedJwt | None:
        """Return what a token says; None if no issuer has made it for this host, or it does not hold now."""
        if token.count(".") != 2 or len(token) > MAX_TOKEN_CHARACTERS or not token.isascii():
            return None
        found = (_decode(token, each) for each in self._issuers)
        return next((verified for claims in found if claims and (verified := read_claims(claims, now))), None)


def load_issuers(issuers: Sequence[HubIssuerSettings], environment: Mapping[str, str]) -> JwtVerifier | None:
    """Return the verifier for `Hub.Issuers`, None without any. Raises SettingsError, with all problems."""
    if not issuers:
        return None
    loaded: list[TrustedIssuer] = []
    problems: list[str] = []
    for index, each in enumerate(issuers):
        key, problem = _load_key(each, environment)
        if problem:
            problems.append(f"Hub.Issuers[{index}].Key: {problem}")
        loaded.append(TrustedIssuer(each.issuer, each.audience, each.algorithm, key))
    if problems:
        raise SettingsError(problems)
    return JwtVerifier(loaded)


def read_claims(claims: Mapping[str, Any], now: datetime) -> VerifiedJwt | None:
    """Return what the claims of a token with a valid signature say; None if it does not hold at this time."""
    subject, expires, begins = claims.get("sub"), _read_time(claims.get("exp")), _read_time(claims.get("nbf", 0))
    if not isinstance(subject, str) or not subject or expires is None or begins is None:
        return None
    return VerifiedJwt(subject, expires) if begins <= now < expires else None


def _read_time(value: object) -> datetime | None:
    """Return a NumericDate as a time; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _decode(token: str, issuer: TrustedIssuer) -> Mapping[str, Any] | None:
    import jwt  # lazy: `cryptography` is heavy, and most hosts have no issuer

    try:
        return jwt.decode(
            token,
            issuer.key,
            algorithms=[issuer.algorithm],
            issuer=issuer.issuer,
            audience=issuer.audience,
            options={
                "require": list(REQUIRED_CLAIMS),
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except Exception:  # noqa: BLE001 - whatever fails in a token that a stranger wrote, it is refused
        return None


def _load_key(issuer: HubIssuerSettings, environment: Mapping[str, str]) -> tuple[Any, str]:
    """Return the prepared key of an issuer and "", or why there is none."""
    import jwt  # lazy: see `_decode`

    text = issuer.key.resolve(environment) or ""
    if not text:
        return None, f"the {issuer.key.source_description} is missing or empty"
    if issuer.algorithm == "HS256" and len(text.encode()) < MIN_SHARED_SECRET_BYTES:
        return None, f"it has {len(text.encode())} bytes; HS256 needs at least {MIN_SHARED_SECRET_BYTES}"
    try:
        return jwt.get_algorithm_by_name(issuer.algorithm).prepare_key(text), ""
    except Exception:  # noqa: BLE001 - the errors of several libraries, whose texts may contain the key
        return None, f"it is no key of {issuer.algorithm}; give the public key in PEM, or for HS256 a shared secret"
