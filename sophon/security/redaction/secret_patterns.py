"""Patterns of secrets that can be told from ordinary text by their form.

Sources: WASP, secret redaction; OpenParallax, streaming redactor. In every pattern a group `kept...`, if it has one,
stays in front of the marker. A value ends before `[`, so that no pattern matches a marker; every quantifier is
possessive or followed by what it cannot match, so that the time is linear.

A boundary is a character after which a text may be cut: white space, a quote, and every character from U+0E00 on (Thai,
Chinese and others write no spaces). No pattern crosses a boundary, except in private keys and behind the beginnings
that `redaction_pieces` knows, so that what stands on both sides of another boundary can be redacted on its own.
"""

import re
from collections.abc import Sequence
from functools import cache
from string import ascii_letters, ascii_lowercase, digits
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.redaction.key_families import KEY_FAMILIES
from sophon.security.redaction.secret_form import (
    AFTER_ESCAPE,
    INDEXED,
    MAX_CODE_CHARACTERS,
    SecretForm,
    at_least_with,
    at_least_with_digit,
    bare_value,
    no_end_of,
    no_word_of,
)

STOP: Final = r"\s\x1b-\x1f\x85\xa0\u0e00-\U0010ffff\"'"
FIRST_WIDE_STOP: Final = 0xE00
"""Of `STOP`; the others are below 256."""
BOUNDARY: Final = lazy_pattern(f"[{STOP}]", re.ASCII)

_KEY_HEADER = r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
_HEADER_BEGUN = "-----BEGIN[A-Z0-9 ]{0,50}"
_KEY_FOOTER = r"-----END [A-Z0-9 ]{0,32}-----"
PRIVATE_KEY: Final = lazy_pattern(
    rf"(?P<header>{_KEY_HEADER})(?s:.)*?(?:(?P<footer>{_KEY_FOOTER})|\Z)", re.IGNORECASE | re.ASCII
)
KEY_FOOTER: Final = lazy_pattern(_KEY_FOOTER, re.IGNORECASE | re.ASCII)
MAX_FOOTER_CHARACTERS: Final = 64

_VALUE = rf"[^{STOP}`&,;()<>{{}}\[\]\\$*]"
_ESCAPES = r"\\{0,7}"
"""In front of a quote, in a text within texts of JSON."""
_QUOTE = rf"(?:{_ESCAPES}[\"']|\\{{1,7}}u002[27]|&(?:quot|apos|#0?3[49]|#x2[27]);)"
"""Also as JSON and HTML escape it."""
_OPERATOR = r"(?::=|=>|[:=]|\\{1,7}u003[ad]|&#(?:61|58|x3[ad]);|%3[ad])"
_EQUALS = r"(?:=|\\{1,7}u003d)"
_AMPERSAND = r"(?:[?&]|\\{1,7}u0026|&amp;)"
_GAP = r"(?:\s|\\[nrt]){0,4}+"
"""Possessive: no operator, quote or value begins with a space or such an escape."""
_ASSIGN = rf"(?:{_QUOTE}|{_ESCAPES}){_GAP}{_OPERATOR}{_GAP}"
_START = rf"(?:\b|{AFTER_ESCAPE})"

_A_VALUE = r"[^\s\x0b\"'`&,;()<>{}\[\]\\$*]"
_A_ASSIGN = _ASSIGN.replace(r"\s", r"[\s\x0b]").replace("}+", "}")
_A_QUOTE = rf"(?:{_QUOTE})?"
"""For anchors; RE2's white space has no vertical tab."""
_A_SPACES = r"[\s\x0b]{1,4}"
_A_NO_NUMBER = at_least_with(_A_VALUE.replace("^", "^0-9"), 4, "[0-9]", _A_VALUE)
_A_PLAIN = at_least_with_digit(8, "[A-Za-z_+/=.~-]", "[A-Za-z0-9_+/=.~-]")
_A_DIGIT_6, _A_DIGIT_8 = (at_least_with_digit(count, _A_VALUE.replace("^", "^0-9"), _A_VALUE) for count in (6, 8))

_WORDS_JOINED = r"(?-i:[a-z]{2,20}(?:[_-][a-z]{2,20}){1,8})(?![A-Za-z0-9_-])"
"""Words of small letters, such as `authentication-and-authorization`."""
_CODE = rf"(?![A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)+(?![^{STOP}`&,;<>{{}}\\$*]))"
"""A value that is an attribute, such as `settings.password`, is code."""
_BARE_4, _BARE_6, _BARE_8, _BARE_20 = (bare_value(_VALUE, count) for count in (4, 6, 8, 20))
_PLAIN_16, _PLAIN_32 = (bare_value("(?-i:[A-Za-z0-9_+/=.~-])", count) for count in (16, 32))
_WITH_DIGIT = rf"(?=[^{STOP}`&,;()<>{{}}\[\]\\$*\d]{{0,128}}\d)"
_WITH_ANY_DIGIT = rf"(?=[^{STOP}`\d]{{0,128}}\d)"
_WITH_LETTER = rf"(?=[^{STOP}`A-Za-z]{{0,128}}[A-Za-z])"
_WITH_LETTER_AND_DIGIT = f"{_WITH_ANY_DIGIT}{_WITH_LETTER}"
_PATH = (
    r"(?!(?:~|/(?:home|usr|var|opt|tmp|etc|root|srv|mnt|media|data|app|work|workspaces?|Users|private|Volumes))"
    rf"/[\w.@+-]+(?:/[\w.@+-]+)*+/?(?![^{STOP}`&,;:()<>{{}}\[\]\\$*]))"
)
"""A path on a disk: `PWD` is also the name of the current folder, and a password file has one."""
_TYPES = ("string", "integer", "number", "boolean", "object", "secretstr")
_TYPE_NAME = rf"(?!(?:{'|'.join(_TYPES)}){_QUOTE})"
"""A quoted name of a type, as in a JSON schema."""
_A_NO_TYPE_NAME = no_word_of(_TYPES, 6, _A_VALUE)

_PASSWORD = rf"(?:[^{STOP}`&,;()<>{{}}\\]|&(?![&{STOP}]|[\w.%-]{{0,64}}=))"
"""A character of a password that stands bare: `&` in front of a query parameter or at its end is none."""
_PASSWORD_6, _PASSWORD_8 = (bare_value(_PASSWORD, count, r"\(") for count in (6, 8))
_SECRET_NAMES = "password|passwd|passphrase|pwd|secret|(?:secret|encryption|signing)[_-]?key"  # noqa: S105 - a pattern
_NO_NAME = (
    # A variable of a shell, and the name of a variable with a secret, as in `password=new_password`.
    rf"(?!\$\{{?(?-i:[A-Z0-9_]+|[A-Za-z_]+)(?![\w!#$%@^]))"
    r"(?!(?-i:(?:[a-z]+_)*(?:password|passwd|passphrase|pwd|secret|key|token)|(?:[A-Z]+_)+(?:SECRET|KEY|TOKEN))"
    rf"(?!{_VALUE}))(?![*\[\]&])"
)
_NO_CODE = (
    # An attribute, and an index.
    rf"(?![A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)+(?![^{STOP}`&,;<>{{}}\\*]))"
    rf"(?![A-Za-z_][\w.]*+{INDEXED}(?:\\{{0,7}}[\"']|[^{STOP}\]]{{0,{MAX_CODE_CHARACTERS}}}+\](?![A-Za-z0-9!#$%@^])))"
    rf"{_NO_NAME}"
)
_SHORT_WORD = rf"(?!(?:{'|'.join(_TYPES)})(?![A-Za-z]))[A-Za-z]{{6,7}}+(?![^{STOP}])"
_NO_TEMPLATE = rf"(?![^{STOP}]{{0,128}}(?:\{{[\w.:!]*\}}|<[A-Za-z][\w.-]*>|[%$][{{(]))"
_QUOTED_PASSWORD = rf"(?:[^{STOP}`&\\]|&(?!(?:quot|apos|#0?3[49]|#x2[27]);)|\\{{1,7}}(?!u002[27])[^{STOP}\\])"
"""A character of a password in quotes; an escaped quote ends it."""
_A_PASSWORD = r"[^\s\x0b\"'`,;()<>{}\\]"  # noqa: S105 - a pattern
_A_PASSWORD_6 = at_least_with_digit(6, _A_PASSWORD.replace("^", "^0-9"), _A_PASSWORD)
_A_QUOTED_6 = at_least_with_digit(6, r"[^0-9\s\x0b\"'`]", r"[^\s\x0b\"'`]")

_HEADS = ("pass", "pwd", "secret", "encryption", "signing")
_WORDS = rf"(?:{_SECRET_NAMES}|(?<=[A-Za-z0-9][_-])pass)"
_A_WORDS = r"(?:(?:pass|pwd|secret)(?:word|wd|phrase)?|(?:secret|encryption|signing)[_-]?key)"
_KEY_NAME = (
    r"(?:(?:api|access|auth|secret|private|account|shared[_-]?access|service|master|bot|app|client|refresh|session|id"
    r"|verify|webhook|bearer|vault|encryption|signing)[_-]?(?:access[_-]?)?(?:key|token|secret)|authorization)"
)

_PLACES = ("page", "next", "continuation", "sync")
"""In front of `token` in the name of a query parameter: where a list goes on, which is no secret."""
_C = "[A-Za-z0-9_.-]"
_A_NO_PLACE = (
    # The name in front of `token` in RE2's syntax: nothing, or not `([a-z]+[_-]?)?(page|next|...)[_-]?`.
    rf"(?:|{_C}*[0-9.]{_C}*|[_-]{_C}*|{_C}*[_-]{_C}*[_-]{_C}+|{_C}*[_-][_-]|{_C}*[_-][a-z]+(?:{'|'.join(_PLACES)})[_-]?"
    rf"|{no_end_of(_PLACES, ascii_letters + digits + '.')}[_-]?"
    rf"|{_C}*[_-]{no_end_of(_PLACES, ascii_letters + digits + '.')}[_-]?)"
)

_URL: Final = (
    SecretForm(
        ("://",),
        r"://[^\s\x0b\"'/:@?#\[\]]*:[^\s\x0b\"'/<>\[\]]+@",
        rf"(?P<kept_user>://[^{STOP}/:@?#\[\]]*+:)[^{STOP}/<>\[\]]+(?=@)",
        is_long=True,
    ),
    # A token in place of a user; without a digit it is a name.
    SecretForm(
        ("://",),
        r"://[^\s\x0b\"'/:@?#<>\[\](){}$*]{8,}@",
        rf"(?P<kept_place>://)(?=[^{STOP}/:@?#\[\]\d]{{0,64}}\d)[^{STOP}/:@?#<>\[\](){{}}$*]{{8,}}+(?=@)",
        is_long=True,
    ),
    SecretForm(("/bot",), r"/bot[0-9]+:[^\s\x0b\"'/?\[\]]{4}", rf"(?P<kept_bot>/bot\d++:)[^{STOP}/?\[\]]{{4,}}+", True),
    SecretForm(
        (*(first + second for first in "?&" for second in f"{ascii_lowercase}{digits}_.-"), "\\u", "\\\\"),
        rf"{_AMPERSAND}(?:[A-Za-z0-9_.-]{{0,48}}(?:secret|passw|passphrase|pwd|signature|credential|key|sig|auth)[a-z]{{0,3}}"
        f"|{_A_NO_PLACE}token){_EQUALS}{_A_VALUE}",
        rf"(?P<kept_query>{_AMPERSAND}(?!(?:[a-z]+[_-]?)?(?:{'|'.join(_PLACES)})[_-]?token{_EQUALS})"
        r"(?:[A-Za-z0-9_.-]{0,32}"
        r"(?:token|secret|password|passwd|passphrase|pwd|signature|credential)"
        rf"|(?:[a-z]{{1,32}}[_-])?api[_-]?key|sig|auth){_EQUALS}){_VALUE}++"
        rf"|(?P<kept_key>{_AMPERSAND}key{_EQUALS}){_VALUE}{{8,}}+",
    ),
)

_HEADERS: Final = (
    SecretForm(
        ("authorization",),
        r"authorization\\{0,7}[\"']?[\s\x0b]{0,4}[:=][\s\x0b]{0,4}\\{0,7}[\"']?(?:basic|bearer|digest|token|apikey|bot)"
        f"{_A_SPACES}{_A_VALUE}{{6}}",
        rf"(?P<kept_header>{_START}authorization{_ESCAPES}[\"']?\s{{0,4}}[:=]\s{{0,4}}{_ESCAPES}[\"']?"
        r"(?:Basic|Bearer|Digest|Token|ApiKey|Bot)"
        rf"\s{{1,4}}){_VALUE}{{6,}}+",
    ),
    SecretForm(
        ("bearer", "basic"),
        r"(?:bearer|basic)[\s\x0b]{1,4}[A-Za-z0-9._~+/=-]{12}",
        rf"(?P<kept_bearer>{_START}(?:Bearer|Basic)\s{{1,4}})(?!{_WORDS_JOINED})"
        r"(?=[A-Za-z_/+.~-]{0,128}[\d=]|[A-Za-z_/+.~-]{20})[A-Za-z0-9._~+/=-]{12,}+",
    ),
)

_ASSIGNMENTS: Final = (
    # Passwords: in quotes, or after `=` without spaces, or anything with a digit. A name of a resource, as in
    # `arn:aws:secretsmanager:us-west-2:123456789012:secret:name`, is none.
    SecretForm(
        _HEADS,
        f"{_A_WORDS}{_A_ASSIGN}{_QUOTE}(?:{_A_NO_TYPE_NAME}{_QUOTE}|{_A_QUOTED_6})",
        rf"(?P<kept_quoted_password>{_WORDS}{_ASSIGN}{_QUOTE}){_TYPE_NAME}{_PATH}{_NO_NAME}"
        rf"(?:{_VALUE}{{6,}}+|{_NO_TEMPLATE}{_WITH_LETTER_AND_DIGIT}{_QUOTED_PASSWORD}{{6,}}+)(?={_QUOTE})",
        is_long=True,
    ),
    SecretForm(
        _HEADS,
        f"{_A_WORDS}(?:=(?:{_A_PASSWORD}{{8}}|[A-Za-z]{{6}})|{_A_ASSIGN}{_A_PASSWORD_6})",
        # Anything behind a bare `=`, and a word of 6 letters up to a boundary; behind another operator, or if it is
        # shorter, with a digit.
        rf"(?P<kept_password>(?:(?<!\d{{8}}:){_WORDS}{_ASSIGN}|{_WORDS}=)){_NO_CODE}{_PATH}"
        rf"(?:(?<=[A-Za-z]=)(?:{_PASSWORD_8}|{_SHORT_WORD})|{_WITH_ANY_DIGIT}(?:{_PASSWORD_8}|{_WITH_LETTER}{_PASSWORD_6}))",
    ),
    # Named keys and tokens: 8 characters with a digit, or 20 of any kind.
    SecretForm(
        (
            *("api", "access", "auth", "secret", "private", "account", "shared", "service", "master", "bot", "app"),
            *("client", "refresh", "session", "id", "verify", "webhook", "bearer", "vault", "encryption", "signing"),
        ),
        f"(?:(?:api|access|auth|secret|private|account|service|master|bot|app|client|refresh|session|id|verify|webhook"
        f"|bearer|vault|encryption|signing)[_-]?(?:access[_-]?)?(?:key|token|secret)|authorization){_A_ASSIGN}{_A_QUOTE}(?:{_A_VALUE}{{20}}|{_A_DIGIT_8})",
        rf"(?P<kept_named>{_KEY_NAME}{_ASSIGN}(?:{_QUOTE})?){_CODE}{_NO_NAME}(?:{_WITH_DIGIT}{_BARE_8}|{_BARE_20})",
    ),
    # A plain `key` or `token`: 32 characters with a digit; 8 behind the name of an environment variable, numbers
    # excepted.
    SecretForm(
        ("key", "token"),
        f"(?-i:KEY|TOKEN){_A_ASSIGN}{_A_QUOTE}{_A_DIGIT_8}|(?:key|token){_A_ASSIGN}{_A_QUOTE}{_A_PLAIN}",
        rf"(?P<kept_environment>(?-i:(?<=[A-Z0-9]_)(?:KEY|TOKEN)){_ASSIGN}(?:{_QUOTE})?){_CODE}{_PATH}"
        rf"(?!(?:\d++|0x\w++)(?!{_VALUE})){_WITH_DIGIT}{_BARE_8}"
        rf"|(?P<kept_plain>{_START}(?:key|token){_ASSIGN}(?:{_QUOTE})?){_CODE}{_WITH_DIGIT}{_PLAIN_32}"
        rf"|(?P<kept_token>{_START}token{_ASSIGN}(?:{_QUOTE})?){_CODE}{_PATH}(?![A-Za-z_.]+\d{{0,2}}(?!{_VALUE}))"
        rf"{_WITH_LETTER_AND_DIGIT}{_PLAIN_16}",
    ),
)

_OPTION_START = rf"(?:(?<![A-Za-z0-9-])|{AFTER_ESCAPE})"
_FLAG = r"(?:password|passwd|passphrase|pass|secret|token|api-key|auth-token|access-token|client-secret|secret-key)"
_OPTIONS: Final = (
    SecretForm(
        ("--",),
        rf"--[a-z-]{{0,24}}{_FLAG}{_A_SPACES}{_A_QUOTE}{_A_DIGIT_6}",
        rf"(?P<kept_option>{_OPTION_START}--(?:[a-z]{{1,16}}-){{0,2}}{_FLAG}\s{{1,4}}(?:{_QUOTE})?)"
        rf"(?!-){_CODE}{_PATH}{_WITH_DIGIT}{_BARE_6}",
    ),
    # `curl -u ada:word`; ids, as in `docker run -u 1000:1000`, and a group with the user's name are none.
    SecretForm(
        ("-u", "--"),
        rf"-(?:u|-user)[\s\x0b=]{{1,4}}{_A_QUOTE}[A-Za-z0-9_.@%+-]{{1,64}}:{_A_NO_NUMBER}",
        rf"(?P<kept_login>{_OPTION_START}-(?:u|-user)(?:\s{{1,4}}|=)(?:{_QUOTE})?(?P<login>[A-Za-z0-9_.@%+-]{{1,64}}):)"
        rf"(?!(?:\d+|(?P=login)|root|staff|users|nogroup)(?!{_VALUE})){_BARE_4}",
        is_long=True,
    ),
    # An entry of a `.netrc` file, and a password in prose.
    SecretForm(
        ("password",),
        f"password{_A_SPACES}{_A_DIGIT_8}",
        rf"(?P<kept_said>{_START}password\s{{1,4}})(?!-){_CODE}{_PATH}"
        rf"(?=[^{STOP}A-Za-z]{{0,64}}[A-Za-z]){_WITH_DIGIT}{_BARE_8}",
    ),
    # An entry of a list of variables: `name: DB_PASSWORD` above `value: ...`.
    SecretForm(
        (*_HEADS, "key", "token"),
        rf"(?:{_A_WORDS}|key|token)[\"']?,?[\s\x0b]{{1,24}}[\"']?value[\"']?[\s\x0b]{{0,4}}[:=][\s\x0b]{{0,4}}"
        f"{_A_QUOTE}{_A_DIGIT_8}",
        rf"(?P<kept_entry>(?:{_WORDS}|key|token)[\"']?,?\s{{1,24}}[\"']?value[\"']?\s{{0,4}}[:=]\s{{0,4}}(?:{_QUOTE})?)"
        rf"{_WITH_DIGIT}{_BARE_8}",
    ),
    # A constant, as in `define('DB_PASSWORD', '...')`.
    SecretForm(
        ("pass", "secret", "key", "token"),
        rf"(?-i:PASSWORD|PASS|SECRET|KEY|TOKEN){_QUOTE}[\s\x0b]{{0,4}},[\s\x0b]{{0,4}}{_QUOTE}{_A_DIGIT_6}",
        rf"(?P<kept_constant>(?-i:(?<=[A-Z0-9]_)(?:PASSWORD|PASS|SECRET|KEY|TOKEN)){_QUOTE}\s{{0,4}},\s{{0,4}}{_QUOTE})"
        rf"{_WITH_DIGIT}{_VALUE}{{6,}}+(?={_QUOTE})",
    ),
    SecretForm(
        ("<p", "<s"),
        f"<{_A_WORDS}>{_A_VALUE}{{6,}}</",
        rf"(?P<kept_element><(?:password|passwd|passphrase|pwd|secret)>){_VALUE}{{6,}}+(?=</)",
        is_long=True,
    ),
    SecretForm(
        ("identified",),
        f"identified{_A_SPACES}by{_A_SPACES}{_QUOTE}{_A_VALUE}{{4,}}{_QUOTE}",
        rf"(?P<kept_identified>{_START}identified\s{{1,4}}by\s{{1,4}}{_QUOTE}){_VALUE}{{4,}}+(?={_QUOTE})",
        is_long=True,
    ),
    SecretForm(
        ("sshpass",),
        rf"sshpass{_A_SPACES}-p[\s\x0b]{{0,4}}{_A_QUOTE}{_A_VALUE}{{4}}",
        rf"(?P<kept_sshpass>{_START}sshpass\s{{1,4}}-p\s{{0,4}}(?:{_QUOTE})?){_VALUE}{{4,}}+",
    ),
    SecretForm(
        ("redis-cli",),
        rf"redis-cli(?:[\s\x0b]+[^\s\x0b\"'`;|&\[\]]+){{0,8}}{_A_SPACES}(?:-a|--pass){_A_SPACES}{_A_QUOTE}{_A_VALUE}{{4}}",
        rf"(?P<kept_redis>{_START}redis-cli(?:\s{{1,4}}(?!(?:-a|--pass)\s)[^{STOP}`;|&\[\]]{{1,64}}){{0,8}}\s{{1,4}}"
        rf"(?:-a|--pass)\s{{1,4}}(?:{_QUOTE})?){_VALUE}{{4,}}+",
        is_long=True,
    ),
)

_CODE_NAME = r"(?-i:[A-Za-z_][A-Za-z0-9_]{0,9})"
ASSIGNED_ATTRIBUTES: Final = (
    rf"(?:(?:password|passwd|passphrase|pwd|secret)(?:{_OPERATOR}|\s{{0,4}}{_OPERATOR}\s{{1,4}})(?:{_CODE_NAME}\.){{1,4}}"
    r"(?-i:[A-Za-z_][A-Za-z0-9_]{0,8}[0-9])[ \t\r\n]+)*"
)
"""Assignments of attributes, such as `password = settings.password1`, one behind the other, in RE2's syntax.

They are no secrets, and none begins in one: no form has two operators, each key of a provider has a part of more than
10 characters, and every name that stands in front of a secret and a space ends with a letter, which these do not.
"""

SECRET_FORMS: Final[Sequence[SecretForm]] = (*KEY_FAMILIES, *_URL, *_HEADERS, *_ASSIGNMENTS, *_OPTIONS)
"""Every form, in the order in which they are tried at a place."""


@cache
def key_spans_pattern() -> re.Pattern[str]:
    """Return the pattern of private keys, and of the beginning of their header; a cut within a match is not safe."""
    return re.compile(rf"{PRIVATE_KEY.pattern}|{_HEADER_BEGUN}", re.IGNORECASE | re.ASCII)


BEGUN_HEADERS: Final = lazy_pattern(rf"(?:{_HEADER_BEGUN})+", re.IGNORECASE | re.ASCII)
"""As `key_spans_pattern`, for a text without `PRIVATE KEY`, in which no key can begin: runs of beginnings at once."""
