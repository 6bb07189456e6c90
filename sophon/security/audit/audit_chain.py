"""Hash chain of an audit log: each entry contains the hash of the one before it, so that a change breaks the chain.

The hashes cover digests of texts instead of the texts: a person's text can be blanked and old entries can be cut off
without breaking the chain. A digest is salted, and the salt is blanked together with its text, so that a blanked text
cannot be found by guessing.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final, TypeGuard

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon.security.authorization.capability_levels import find_recorded_level

GENESIS: Final = "0" * 64
"""`previous_hash` of the first entry of a chain."""
LEVEL: Final = "capability_level"
"""Key of the level in an exported line."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Entry of the log. `number` counts from 1; `fields` are values that stay for ever, such as time, event and tool.

    `texts` maps names to texts that a person may ask to have removed, such as arguments; None is a blanked text.
    `salts` has the salt of each text that is not blanked, `digests` the digest of each text.
    """

    number: int
    fields: Mapping[str, Any]
    previous_hash: str
    hash: str
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    texts: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    salts: Mapping[str, str | None] = field(default_factory=dict[str, str | None])

    def to_line(self) -> str:
        """Return the entry as a line of JSON in ASCII without its line break, as `sophon audit export` writes it."""
        return json.dumps(
            {
                "number": self.number,
                "fields": dict(self.fields),
                LEVEL: self.capability_level,
                "digests": dict(self.digests),
                "previous_hash": self.previous_hash,
                "hash": self.hash,
                "texts": dict(self.texts),
                "salts": dict(self.salts),
            },
            sort_keys=True,
            separators=(",", ":"),
        )

    @property
    def capability_level(self) -> str:
        """Level of the tool by its action type and its risk, from `safe` to `privileged`; "" of what is no call."""
        return find_recorded_level(str(self.fields.get("capability", "")), str(self.fields.get("risk", "")))


def chain_entry(
    previous: AuditEntry | None, fields: Mapping[str, Any], texts: Mapping[str, str], salts: Mapping[str, str]
) -> AuditEntry:
    """Return the entry that follows `previous`, or the first one of a chain.

    `fields` must be JSON values; `salts` has 32 hexadecimal digits from `secrets` for each text.
    """
    number = 1 if previous is None else previous.number + 1
    previous_hash = GENESIS if previous is None else previous.hash
    digests = {name: compute_text_digest(text, salts[name]) for name, text in texts.items()}
    own = compute_entry_hash(number, fields, digests, previous_hash)
    return AuditEntry(number, dict(fields), previous_hash, own, digests, dict(texts), dict(salts))


def compute_text_digest(text: str, salt: str) -> str:
    """Return the salted SHA-256 digest of a text in hexadecimal digits."""
    return hashlib.sha256(f"{len(salt)}:{salt}{text}".encode("utf-8", "surrogatepass")).hexdigest()


_SIMPLE_TYPES: Final = frozenset({str, int})


def compute_entry_hash(number: int, fields: Mapping[str, Any], digests: Mapping[str, str], previous_hash: str) -> str:
    """Return the SHA-256 hash over the canonical JSON of an entry: sorted keys, no spaces, ASCII."""
    # orjson takes a tenth of the time. It writes texts and integers as json does, but characters that are not ASCII,
    # and DEL, as they are.
    if _SIMPLE_TYPES.issuperset(map(type, fields.values())):
        try:
            data = orjson.dumps([number, fields, digests, previous_hash], option=orjson.OPT_SORT_KEYS)
        except TypeError:  # an integer of more than 64 bits, a lone surrogate, or a mapping that is no dict
            data = b"\x7f"
        if data.isascii() and b"\x7f" not in data:
            return hashlib.sha256(data).hexdigest()
    canonical = json.dumps(
        [number, dict(fields), dict(digests), previous_hash], sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def verify_audit(lines: Iterable[str], *, previous_hash: str | None = None) -> int | None:
    """Return the number (from 1) of the first line that breaks the chain, or None if it is intact.

    `lines` are those of `sophon audit export`, oldest first; blank lines at the end are ignored. A line breaks the
    chain if it cannot be read, does not follow the line before it, does not have the hash of its content, or has a text
    that differs from its digest. With `previous_hash` the first line must follow that hash; without it a chain whose
    oldest entries were cut off begins anywhere.
    """
    expected_hash, expected_number = previous_hash, None
    blank_line: int | None = None
    for index, line in enumerate(lines, 1):
        if not line.strip():
            blank_line = blank_line or index
            continue
        if blank_line is not None:
            return blank_line
        entry = _parse_line(line)
        if entry is None or not _is_consistent(entry):
            return index
        if expected_number is None and expected_hash is None and entry.number == 1:
            expected_hash = GENESIS
        if expected_hash is not None and entry.previous_hash != expected_hash:
            return index
        if expected_number is not None and entry.number != expected_number:
            return index
        expected_hash, expected_number = entry.hash, entry.number + 1
    return None


_TYPES: Final[Mapping[str, type]] = {
    "number": int,
    "fields": dict,
    "digests": dict,
    "previous_hash": str,
    "hash": str,
    "texts": dict,
    "salts": dict,
}


def _parse_line(line: str) -> AuditEntry | None:
    """Return the entry of a line, or None if it is not one; no hash covers an unknown or repeated key."""
    try:
        value: Any = json.loads(line, object_pairs_hook=_build_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    if not _is_object(value):
        return None
    # No hash covers the level: it follows from fields that the hash covers.
    level = value.pop(LEVEL, None)
    if value.keys() != _TYPES.keys():
        return None
    if any(type(value[name]) is not kind for name, kind in _TYPES.items()):
        return None
    entry = AuditEntry(**value)
    return entry if level == entry.capability_level else None


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _build_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("a key occurs twice")
    return built


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _is_consistent(entry: AuditEntry) -> bool:
    """Return whether the entry has the hash of its content, and its texts have their digests."""
    if entry.number < 1 or not (set(entry.texts) == set(entry.salts) == set(entry.digests)):
        return False
    for name, text in entry.texts.items():
        salt = entry.salts[name]
        if text is None and salt is None:
            continue
        if not isinstance(text, str) or not isinstance(salt, str):
            return False
        if compute_text_digest(text, salt) != entry.digests[name]:
            return False
    try:
        return compute_entry_hash(entry.number, entry.fields, entry.digests, entry.previous_hash) == entry.hash
    except (ValueError, TypeError, RecursionError):
        return False
