"""A known secret is found in every form in which a provider, a proxy or a library may quote it."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from html import escape
from urllib.parse import quote, quote_plus

from sophon.security.redaction.known_secrets import KnownSecrets, encoded_pattern
from tests.tables import table

SECRETS = [
    "hunter2secret/pass+word==",
    'a/b+c"d\\e ü==Zz9Qx8Wc7',
    "multi\nline\nsecretvalue",
    "it's 🔑 & <key>",
    "82736455190",
]


def lower_percent(text: str) -> str:
    return re.sub("%..", lambda match: match[0].lower(), quote(text, safe=""))


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda text: quote(text, safe=""),
    "percent without the slash": quote,
    "percent in small letters": lower_percent,
    "form": quote_plus,
    "JSON": json.dumps,
    "JSON of UTF-8": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON of PHP": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON of Go": lambda text: json.dumps(text).replace("+", "\\u002B").replace("<", "\\u003c").replace("&", "\\u0026"),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "repr": repr,
    "repr of bytes": lambda text: repr(text.encode()),
    "HTML": escape,
}


@table("secret", SECRETS)
@table("form", FORMS)
def test_an_escaped_secret_is_replaced_completely(form: str, secret: str) -> None:
    known = KnownSecrets()
    known.add(secret)
    shown = known.replace(f"error: {FORMS[form](secret)}; end")
    assert re.fullmatch(r"error: b?[\\\"']*\[REDACTED\][\\\"']*; end", shown)


@table("secret", SECRETS)
@table("before", ["", "Bearer ", "user:", "x"])
@table("encode", [b64encode, urlsafe_b64encode])
def test_base64_that_contains_a_secret_shows_at_most_its_last_bits(
    encode: Callable[[bytes], bytes], before: str, secret: str
) -> None:
    known = KnownSecrets()
    known.add(secret)
    shown = known.replace(f"sent {encode((before + secret).encode()).decode()} ")
    assert re.fullmatch(r"sent [\w+/-]*\[REDACTED\][\w=+/-]{0,4} ", shown)
    left = re.sub(r".*\[REDACTED\]|=", "", shown).strip()
    assert len(left) <= 2


def test_a_word_is_not_a_secret_within_another_word() -> None:
    known = KnownSecrets()
    known.add("postgres")
    assert known.replace("postgresql and postgres") == "postgresql and [REDACTED]"


def test_the_pattern_is_bounded_by_the_length_of_the_secret() -> None:
    assert len(encoded_pattern("+/=" * 100)) < 300 * 100


@table("unit", ["\\", "a", "%2", "&#", "hunter2secret/pass+word="])
def test_searching_takes_linear_time(unit: str) -> None:
    known = KnownSecrets()
    for secret in SECRETS:
        known.add(secret)
    assert "REDACTED" not in known.replace((unit * 200_000)[:200_000])


@table("before", ["code%3D", "%2F", "\\n", "\\u003d", "=", " ", ""])
def test_a_secret_of_letters_is_found_behind_an_escape(before: str) -> None:
    known = KnownSecrets()
    known.add("qwertyuiopasdfgh")
    assert known.replace(f"{before}qwertyuiopasdfgh") == f"{before}[REDACTED]"


def test_a_secret_of_letters_is_not_a_part_of_another_word() -> None:
    known = KnownSecrets()
    known.add("postgres")
    assert known.replace("postgresql is not postgres") == "postgresql is not [REDACTED]"
