"""Signed head of an audit chain: number and hash of an entry, with an HMAC that only the holder of the key can make.

Who can write to the database can compute a new chain, or remove its end and say that it ends there. A head that was
signed before shows both, as far as it reaches; what was appended after it is not covered.
"""

import hashlib
import hmac
import json
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

MIN_KEY_BYTES: Final = 32
_CONTEXT: Final = b"sophon audit head 1\0"
"""Separates these signatures from whatever else the key may sign."""


class AuditHead(NamedTuple):
    """Number and hash of the newest entry of a chain, and when it was signed (ISO 8601)."""

    number: int
    hash: str
    at: str


class HeadError(ValueError):
    """A head that cannot be read or was not signed with the key, or a key that is too short."""


def sign_head(number: int, entry_hash: str, at: datetime, key: str) -> str:
    """Return the signed head of a chain as a line of JSON. Raises HeadError for a key of less than 32 bytes."""
    head = AuditHead(number, entry_hash, at.isoformat(timespec="seconds"))
    return json.dumps({**head._asdict(), "signature": _compute_signature(head, key)}) + "\n"


def read_head(text: str, key: str) -> AuditHead:
    """Return the head that `sign_head` has written. Raises HeadError."""
    try:
        value: Any = json.loads(text)
        fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        head = AuditHead(fields["number"], fields["hash"], fields["at"])
        signature = fields["signature"]
    except (ValueError, KeyError, RecursionError):
        raise HeadError("the signed head cannot be read") from None
    if type(head.number) is not int or not all(type(each) is str for each in (head.hash, head.at, signature)):
        raise HeadError("the signed head cannot be read")
    if not hmac.compare_digest(signature.encode("utf-8", "replace"), _compute_signature(head, key).encode()):
        raise HeadError("the head was not signed with the key of Guards.Audit.SigningKey")
    return head


def _compute_signature(head: AuditHead, key: str) -> str:
    secret = key.encode()
    if len(secret) < MIN_KEY_BYTES:
        raise HeadError(f"Guards.Audit.SigningKey has less than {MIN_KEY_BYTES} bytes")
    return hmac.new(secret, _CONTEXT + json.dumps(list(head)).encode("ascii"), hashlib.sha256).hexdigest()
