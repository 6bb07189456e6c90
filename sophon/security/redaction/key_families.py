"""Families of keys that have a prefix of their own, and are known by it wherever they stand.

Sources: WASP, secret redaction; OpenParallax, streaming redactor; the documented key formats of the providers.
"""

import re
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.redaction.secret_form import AFTER_ESCAPE, SecretForm, at_least_with_digit

_START = rf"(?:(?<![A-Za-z0-9])|{AFTER_ESCAPE})"
_END = r"(?![A-Za-z0-9])"
_NAME_END = r"(?![A-Za-z0-9_-])"
_TITLE = rf"(?:[a-z]{{2,16}}-){{1,8}}(?:(?:19|20)\d\d|\d{{1,2}})(?:-[a-z]{{2,16}}){{0,8}}{_NAME_END}"
"""The rest of a name with a year or a small number in it, such as `sk-dist-2024-release-notes`."""
_HEAD_END = lazy_pattern(r"[^\w-]")
_ASSERTION = lazy_pattern(r"\(\?[=!](?:[^()]|\([^()]*\))*\)")

# Letters and digits in one run, or of every kind; `npm-check-updates-for-all` is a name.
_RUN = r"[_-](?:[A-Za-z0-9]{1,8}[_-])?[A-Za-z0-9]{20,}+[A-Za-z0-9_-]*+"
_MIXED = r"[_-](?=[a-z0-9_-]{0,128}[A-Z])(?=[A-Za-z_-]{0,128}\d)[A-Za-z0-9_-]{20,}+"

_NAMED = rf"(?!{_TITLE})(?=[A-Za-z_-]{{0,128}}\d)[A-Za-z0-9_-]{{12,}}+"

_FAMILIES: Final = (
    ("sk-", r"[A-Za-z0-9]{20,}+"),  # OpenAI, Moonshot, DeepSeek
    # OpenAI, Anthropic, OpenRouter, LiteLLM, Langfuse
    ("sk-", r"(?:proj|ant|or|svcacct|admin|live|test|lf|litellm)-[A-Za-z0-9_-]{16,}+"),
    ("sk-", _NAMED),
    ("AIza", r"[A-Za-z0-9_-]{25,}+"),  # Google
    (r"ya29\.", r"[A-Za-z0-9_-]{20,}+"),  # Google OAuth
    ("xai-", r"[A-Za-z0-9_-]{20,}+"),
    ("gsk_", r"[A-Za-z0-9]{20,}+"),  # Groq
    ("pplx-", r"[A-Za-z0-9]{20,}+"),  # Perplexity
    *((name, _RUN) for name in ("hf", "r8", "npm", "nvapi", "tvly", "fw", "csk")),
    *((name, _MIXED) for name in ("hf", "r8", "npm", "nvapi", "tvly", "fw", "csk")),
    ("AKIA", r"[A-Z0-9]{12,}+"),  # AWS
    ("ASIA", r"[A-Z0-9]{12,}+"),
    ("gh[pousr]_", r"[A-Za-z0-9]{20,}+"),  # GitHub
    ("github_pat_", r"[A-Za-z0-9_]{20,}+"),
    ("gl(?:pat|rt|ft|soat|dt|cbt|ptt)-", r"[A-Za-z0-9_-]{16,}+"),  # GitLab
    ("xox[abeposr]-", r"[A-Za-z0-9-]{10,}+"),  # Slack
    ("xapp-", r"[A-Za-z0-9-]{10,}+"),
    *((f"{kind}_(?:live|test)_", r"[A-Za-z0-9]{16,}+") for kind in ("sk", "pk", "rk")),  # Stripe
    ("whsec_", r"[A-Za-z0-9+/=]{16,}+"),
    (r"SG\.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),  # SendGrid
    ("EAA", r"[A-Za-z0-9]{30,}+"),  # Meta: WhatsApp Cloud API
    ("pypi-", r"[A-Za-z0-9_-]{32,}+"),
    ("eyJ", r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]*+"),  # JSON Web Token
    ("do[opr]_v1_", r"[a-f0-9]{32,}+"),  # DigitalOcean
    ("dapi", r"[a-f0-9]{32}(?:-\d)?"),  # Databricks
    ("shp(?:at|ca|pa|ss)_", r"[A-Fa-f0-9]{32,}+"),  # Shopify
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+"),
    ("dckr_(?:pat|oat)_", r"[A-Za-z0-9_-]{20,}+"),  # Docker Hub
    ("lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,}+"),  # Linear
    ("ntn_", r"[A-Za-z0-9]{40,}+"),  # Notion
    ("fig[dou]_", r"[A-Za-z0-9_-]{36,}+"),  # Figma
    ("gl(?:sa|c)_", r"[A-Za-z0-9]{30,}+[A-Za-z0-9_+/=]*+"),  # Grafana
    (r"hv[sb]\.", r"[A-Za-z0-9_-]{24,}+"),  # Vault
    ("ATATT3", r"[A-Za-z0-9_=-]{40,}+"),  # Atlassian
    ("pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_-]{30,}+"),  # PlanetScale
    ("NRAK-", r"[A-Z0-9]{24,}+"),  # New Relic
    ("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),  # Postman
    (r"hooks\.slack\.com/services/", r"[A-Z0-9]{6,}+/[A-Z0-9]{6,}+/[A-Za-z0-9]{16,}+"),
    (r"discord(?:app)?\.com/api/webhooks/", r"[0-9]{10,}+/[A-Za-z0-9_-]{40,}+"),
    ("HRKU-", r"[A-Za-z0-9_-]{30,}+"),  # Heroku
    ("tskey-", r"(?:[a-z]{2,16}-)?[A-Za-z0-9]{8,}+-[A-Za-z0-9]{16,}+"),  # Tailscale
)


def _anchor(prefix: str, body: str) -> str:
    """Return the body in RE2's syntax: without assertions and possessive quantifiers."""
    if body == _NAMED:
        required = at_least_with_digit(12, "[A-Za-z_-]", "[A-Za-z0-9_-]")
    elif body == _MIXED:
        required = "[_-][a-z_-]*(?:[A-Z][A-Za-z_-]*[0-9]|[0-9][a-z0-9_-]*[A-Z])"
    else:
        required = _ASSERTION.sub("", body).replace("}+", "}").replace("*+", "*")
        required = re.sub(r",\}\Z", "}", required)
    return f"(?-i:{prefix}{required})"


def _form(prefix: str, body: str) -> SecretForm:
    anchor, head = _anchor(prefix, body), _HEAD_END.split(prefix)[0].lower()
    return SecretForm((head,), anchor, f"{_START}(?-i:{prefix}{body}){_END}", ",}" in anchor)


KEY_FAMILIES: Final = (
    *(_form(prefix, body) for prefix, body in _FAMILIES),
    # Telegram bot
    SecretForm(
        tuple(f"{number:02}" for number in range(100)),
        r"[0-9]{6,12}:[A-Za-z0-9_-]{30}",
        rf"{_START}\d{{6,12}}+:[A-Za-z0-9_-]{{30,}}+{_END}",
    ),
)
