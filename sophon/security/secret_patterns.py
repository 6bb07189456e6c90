"""Patterns of secrets that can be told from ordinary text by their form.

Sources: reference/wasp.md 4.10, reference/openparallax.md 2.11, and the documented key formats of the providers. In
every pattern the group `kept`, if it has one, stays in front of the marker. A value ends before `[`, so that no pattern
matches a marker; every quantifier is possessive or followed by what it cannot match, so that the time is linear.
"""

import re
from functools import cache
from typing import Final

_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"

_NAME_END = r"(?![A-Za-z0-9_-])"
_TITLE = rf"(?:[a-z]{{2,16}}-){{1,8}}(?:(?:19|20)\d\d|\d{{1,2}})(?:-[a-z]{{2,16}}){{0,8}}{_NAME_END}"
"""The rest of a name with a year or a small number in it, such as `sk-dist-2024-release-notes`."""
_WORDS_JOINED = rf"(?-i:[a-z]{{2,20}}(?:[_-][a-z]{{2,20}}){{1,8}}){_NAME_END}"
"""Words of small letters, such as `authentication-and-authorization`."""

_PREFIXED_KEYS: Final = (
    r"sk-[A-Za-z0-9]{20,}+",  # OpenAI, Moonshot, DeepSeek
    r"sk-(?:proj|ant|or|svcacct|admin|live|test|lf|litellm)-[A-Za-z0-9_-]{16,}+",  # OpenAI, Anthropic, OpenRouter
    rf"sk-(?!{_TITLE})(?=[A-Za-z_-]{{0,128}}\d)[A-Za-z0-9_-]{{12,}}+",
    r"AIza[A-Za-z0-9_-]{25,}+",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,}+",  # Google OAuth
    r"xai-[A-Za-z0-9_-]{20,}+",
    r"gsk_[A-Za-z0-9]{20,}+",  # Groq
    r"pplx-[A-Za-z0-9]{20,}+",  # Perplexity
    # Letters and digits in one run, or of every kind; `npm-check-updates-for-all` is a name.
    r"(?:hf|r8|npm|nvapi|tvly|fw|csk)[_-](?:[A-Za-z0-9]{1,8}[_-])?[A-Za-z0-9]{20,}+[A-Za-z0-9_-]*+",
    r"(?:hf|r8|npm|nvapi|tvly|fw|csk)[_-](?=[a-z0-9_-]{0,128}[A-Z])(?=[A-Za-z_-]{0,128}\d)[A-Za-z0-9_-]{20,}+",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}+",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{20,}+",  # GitHub
    r"github_pat_[A-Za-z0-9_]{20,}+",
    r"glpat-[A-Za-z0-9_-]{16,}+",  # GitLab
    r"xox[abeposr]-[A-Za-z0-9-]{10,}+",  # Slack
    r"xapp-[A-Za-z0-9-]{10,}+",
    r"(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}+",  # Stripe
    r"whsec_[A-Za-z0-9+/=]{16,}+",
    r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+",  # SendGrid
    r"EAA[A-Za-z0-9]{30,}+",  # Meta: WhatsApp Cloud API
    r"pypi-[A-Za-z0-9_-]{32,}+",
    r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+",  # JSON Web Token
    r"\d{6,12}+:[A-Za-z0-9_-]{30,}+",  # Telegram bot
)

_PRIVATE_KEY = r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----(?s:.)*?(?:-----END [A-Z0-9 ]{0,32}-----|\Z)"
_URL_USER = r"(?P<kept_user>://[^\s/:@\"'?#\[\]]*+:)[^\s/\"'<>\[\]]+(?=@)"
_BOT_PATH = r"(?P<kept_bot>/bot\d++:)[^\s/\"'?\[\]]{4,}+"

_VALUE = r"[^\s\"'`&,;()<>{}\[\]\\$*]"
_QUERY = (
    r"(?P<kept_query>[?&](?!(?:[a-z]+[_-]?)?(?:page|next|continuation|sync)[_-]?token=)(?:[A-Za-z0-9_.-]{0,32}(?:token|secret|password|passwd|passphrase|pwd|signature|credential)"
    rf"|(?:[a-z]+[_-])?api[_-]?key|sig|auth)=){_VALUE}++"
    rf"|(?P<kept_key>[?&]key=){_VALUE}{{8,}}+"
)

_HEADER = (
    r"(?P<kept_header>\bauthorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?:Basic|Bearer|Digest|Token|ApiKey|Bot)\s{1,4})"
    rf"{_VALUE}{{6,}}+"
    rf"|(?P<kept_bearer>\b(?:Bearer|Basic)\s{{1,4}})(?!{_WORDS_JOINED})"
    r"(?=[A-Za-z_/+.~-]{0,128}[\d=]|[A-Za-z_/+.~-]{20})[A-Za-z0-9._~+/=-]{12,}+"
)

_ASSIGN = r"\\?[\"']?\s{0,4}[:=]\s{0,4}"
_QUOTE = r"\\?[\"']"
_CODE = r"(?![A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+)+(?![^\s\"'`&,;<>{}\\$*]))"
"""A bare value that is an attribute, such as `settings.password`, is code."""
_CALL = r"(?![(\[])"
"""A bare value that is called or indexed is code."""
_WITH_DIGIT = r"(?=[^\s\"'`&,;()<>{}\[\]\\$*\d]{0,128}\d)"
_WORDS = r"(?:password|passwd|passphrase|pwd|secret)"
_PATH = (
    r"(?!(?:~|/(?:home|usr|var|opt|tmp|etc|root|srv|mnt|media|data|app|work|workspaces?|Users|private|Volumes))"
    r"/[\w.@+-]+(?:/[\w.@+-]+)*+/?(?![^\s\"'`&,;:()<>{}\[\]\\$*]))"
)
"""A path on a disk: `PWD` is also the name of the current folder, and a password file has one."""
_TYPE_NAME = r"(?!(?:string|integer|number|boolean|object|SecretStr)\\?[\"'])"
"""A quoted name of a type, as in a JSON schema."""
_KEY_NAME = (
    r"(?:(?:api|access|auth|secret|private|account|shared[_-]?access|service|master|bot|app|client|refresh|session|id"
    r"|verify|webhook|bearer)[_-]?(?:access[_-]?)?(?:key|token|secret)|authorization)"
)
_ASSIGNMENT = (
    # Passwords: in quotes, or after `=` without spaces, or anything with a digit.
    rf"(?P<kept_quoted_password>{_WORDS}{_ASSIGN}{_QUOTE}){_TYPE_NAME}{_PATH}{_VALUE}{{6,}}+(?=\\?[\"'])"
    rf"|(?P<kept_password>{_WORDS}=){_CODE}{_PATH}{_VALUE}{{8,}}+{_CALL}"
    rf"|(?P<kept_digit_password>{_WORDS}{_ASSIGN}){_CODE}{_PATH}{_WITH_DIGIT}{_VALUE}{{8,}}+{_CALL}"
    # Named keys and tokens: 16 characters with a digit, or 20 of any kind.
    rf"|(?P<kept_named>{_KEY_NAME}{_ASSIGN}(?:{_QUOTE})?){_CODE}(?:{_WITH_DIGIT}{_VALUE}{{16,}}+|{_VALUE}{{20,}}+){_CALL}"
    # A plain `key` or `token`: 32 characters with a digit.
    rf"|(?P<kept_plain>\b(?:key|token){_ASSIGN}(?:{_QUOTE})?){_CODE}{_WITH_DIGIT}[A-Za-z0-9_+/=.~-]{{32,}}+{_CALL}"
)

_SECRET: Final = "|".join(
    (
        _PRIVATE_KEY,
        f"{_START}(?-i:{'|'.join(_PREFIXED_KEYS)}){_END}",
        _URL_USER,
        _BOT_PATH,
        _QUERY,
        _HEADER,
        _ASSIGNMENT,
    )
)


@cache
def secret_pattern() -> re.Pattern[str]:
    """Return the pattern of every form of a secret; a match that has a group keeps that group's text.

    Compiled on first use: most processes of the command line never make an error.
    """
    return re.compile(_SECRET, re.IGNORECASE)
