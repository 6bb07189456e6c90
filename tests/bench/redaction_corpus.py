"""Corpus of secrets: made with a seeded generator by rules of construction, in surroundings like those of real files.

Families have a form of their own and are found wherever they stand; values have none and are known by the name in front
of them. `HELD_OUT_*` were written before the patterns were looked at, and no pattern was changed for one of them.
"""

import base64
import random
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

LOWER, UPPER, DIGITS, HEX = string.ascii_lowercase, string.ascii_uppercase, string.digits, "0123456789abcdef"
ALNUM = string.ascii_letters + DIGITS
URLSAFE = ALNUM + "-_"
BASE32 = UPPER + "234567"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"

Make = Callable[[random.Random], str]


def chars(alphabet: str, count: int, prefix: str = "", suffix: str = "") -> Make:
    """Return a maker of `count` characters of an alphabet; one is a digit where the alphabet has digits."""

    def make(rng: random.Random) -> str:
        while True:
            text = "".join(rng.choices(alphabet, k=count))
            if any(each in DIGITS for each in text) or not set(alphabet) & set(DIGITS):
                return f"{prefix}{text}{suffix}"

    return make


def joined(*makers: Make, by: str = "") -> Make:
    return lambda rng: by.join(make(rng) for make in makers)


def encoded(count: int) -> Make:
    return lambda rng: base64.b64encode(rng.randbytes(count)).decode()


def uuid(rng: random.Random) -> str:
    return "-".join(chars(HEX, count)(rng) for count in (8, 4, 4, 4, 12))


def webtoken(rng: random.Random) -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{rng.randrange(10**9)}","exp":{rng.randrange(10**10)}}}')
    head = ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{chars(URLSAFE, 43)(rng)}"


def private_key(kind: str) -> Make:
    def make(rng: random.Random) -> str:
        lines = "\n".join(base64.b64encode(rng.randbytes(48)).decode() for _ in range(rng.randint(3, 12)))
        return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"

    return make


def password(rng: random.Random) -> str:
    """A password as people and generators make them."""
    words = ("summer", "Winter", "dragon", "Hamster", "correct", "Horse", "lemon", "Falcon", "Zebra", "coffee")
    kind = rng.randrange(4)
    if kind == 0:
        return f"{rng.choice(words)}{rng.choice(words)}{rng.randrange(10, 9999)}"
    if kind == 1:
        return f"{rng.choice(words)}{rng.choice('!@#%+-_.')}{rng.randrange(10, 9999)}{rng.choice('!?#%+')}"
    if kind == 2:
        return chars(ALNUM, rng.randint(10, 24))(rng)
    return chars(ALNUM + "!#%+-_.~@^", rng.randint(12, 24), prefix="k")(rng)


FAMILIES: Mapping[str, Make] = {
    "openai": chars(ALNUM, 48, "sk-"),
    "openai project": chars(URLSAFE, 74, "sk-proj-"),
    "anthropic": chars(URLSAFE, 95, "sk-ant-api03-"),
    "openrouter": chars(HEX, 64, "sk-or-v1-"),
    "google": chars(URLSAFE, 35, "AIza"),
    "google oauth": chars(URLSAFE, 60, "ya29."),
    "xai": chars(ALNUM, 80, "xai-"),
    "groq": chars(ALNUM, 52, "gsk_"),
    "perplexity": chars(ALNUM, 48, "pplx-"),
    "hugging face": chars(ALNUM, 34, "hf_"),
    "replicate": chars(ALNUM, 37, "r8_"),
    "nvidia": chars(URLSAFE, 64, "nvapi-"),
    "aws key id": chars(BASE32, 16, "AKIA"),
    "aws temporary id": chars(BASE32, 16, "ASIA"),
    "github": chars(ALNUM, 36, "ghp_"),
    "github server": chars(ALNUM, 36, "ghs_"),
    "github fine-grained": joined(chars(ALNUM, 22, "github_pat_"), chars(ALNUM, 59), by="_"),
    "gitlab": chars(URLSAFE, 20, "glpat-"),
    "slack bot": joined(chars(DIGITS, 12, "xoxb-"), chars(DIGITS, 12), chars(ALNUM, 24), by="-"),
    "slack app": joined(chars(BASE32, 11, "xapp-1-A"), chars(DIGITS, 13), chars(HEX, 64), by="-"),
    "stripe": chars(ALNUM, 24, "sk_live_"),
    "stripe restricted": chars(ALNUM, 40, "rk_test_"),
    "stripe webhook": chars(ALNUM, 32, "whsec_"),
    "sendgrid": joined(chars(URLSAFE, 22, "SG."), chars(URLSAFE, 43), by="."),
    "npm": chars(ALNUM, 36, "npm_"),
    "pypi": chars(URLSAFE, 150, "pypi-AgEIcHlwaS5vcmc"),
    "json web token": webtoken,
    "telegram": joined(chars(DIGITS, 9), chars(URLSAFE, 33, "AA"), by=":"),
    "digitalocean": chars(HEX, 64, "dop_v1_"),
    "databricks": chars(HEX, 32, "dapi"),
    "shopify": chars(HEX, 32, "shpat_"),
    "age": chars(BECH32, 58, "AGE-SECRET-KEY-1"),
    "rsa key": private_key("RSA PRIVATE KEY"),
    "openssh key": private_key("OPENSSH PRIVATE KEY"),
    "ec key": private_key("EC PRIVATE KEY"),
    "meta": chars(ALNUM, 160, "EAA"),
    "docker hub": chars(URLSAFE, 27, "dckr_pat_"),
    "linear": chars(ALNUM, 40, "lin_api_"),
    "notion": chars(ALNUM, 46, "ntn_"),
    "figma": chars(URLSAFE, 40, "figd_"),
    "grafana": joined(chars(ALNUM, 32, "glsa_"), chars(HEX, 8), by="_"),
    "vault": chars(URLSAFE, 90, "hvs."),
    "atlassian": chars(URLSAFE, 180, "ATATT3xFfGF0"),
    "postman": joined(chars(HEX, 24, "PMAK-"), chars(HEX, 34), by="-"),
    "tailscale": joined(chars(ALNUM, 12, "tskey-auth-"), chars(ALNUM, 32), by="-"),
}

HELD_OUT_FAMILIES: Mapping[str, Make] = {
    "github refresh": chars(ALNUM, 36, "ghr_"),
    "slack user": joined(chars(DIGITS, 12, "xoxp-"), chars(DIGITS, 12), chars(DIGITS, 12), chars(HEX, 32), by="-"),
    "encrypted key": private_key("ENCRYPTED PRIVATE KEY"),
    "pgp key": private_key("PGP PRIVATE KEY BLOCK"),
    "langfuse": joined(chars(HEX, 8, "sk-lf-"), chars(HEX, 4), chars(HEX, 4), chars(HEX, 12), by="-"),
    "shopify private": chars(HEX, 32, "shppa_"),
    "digitalocean oauth": chars(HEX, 64, "doo_v1_"),
    "stripe test": chars(ALNUM, 90, "sk_test_"),
    "gitlab runner": chars(URLSAFE, 20, "glrt-"),
    "planetscale": chars(URLSAFE, 43, "pscale_tkn_"),
    "new relic": chars(BASE32, 27, "NRAK-"),
    "fireworks": chars(ALNUM, 24, "fw_"),
}

VALUES: Mapping[str, Make] = {
    "password": password,
    "hexadecimal": chars(HEX, 40),
    "letters and digits": chars(ALNUM, 32),
    "base64": encoded(32),
    "aws secret": chars(ALNUM + "/+", 40),
    "uuid": uuid,
}

SURROUNDINGS: tuple[str, ...] = (
    "{}",
    "the key {} was refused",
    'key = "{}"\nprint(key)',
    "- {}\n- other",
    '{{"value": "{}", "ok": true}}',
    "2026-11-23 06:12:44,120 ERROR app.client request failed: invalid key {} (401)",
    "curl -H 'X-Key: {}' https://api.example.com/v1/items",
    "https://api.example.com/v1/items?x={}&page=2",
    "| prod | {} | 2026 |",
    "export X={}; ./run.sh",
    "<value>{}</value>",
)

NAMED: tuple[str, ...] = (
    "DB_PASSWORD={}",
    'export DATABASE_PASSWORD="{}"',
    "password: {}",
    '  "password": "{}",',
    "password = '{}'",
    'cfg.password := "{}"',
    "ADMIN_PASS={}",
    "mysql --password {} -u root app",
    "mysql --password={} -u root app",
    "curl -u admin:{} https://example.com/private",
    "curl --user 'admin:{}' https://example.com/private",
    "postgresql://app:{}@db.internal:5432/app",
    "https://{}@git.example.com/team/app.git",
    "https://oauth2:{}@git.example.com/team/app.git",
    "STRIPE_KEY={}",
    "OPENAI_API_KEY={}",
    "api_key: {}",
    '{{"apiKey": "{}", "region": "eu"}}',
    "aws_secret_access_key = {}",
    "Authorization: Bearer {}",
    'headers = {{"Authorization": "Token {}"}}',
    "X-Api-Key: {}",
    "GET /v1/items?api_key={}&page=2 HTTP/1.1",
    "--token {} --region eu",
    '{{\\"client_secret\\": \\"{}\\"}}',
    "SECRET_KEY = '{}'",
    "2026-11-23T06:12:44Z WARN login failed for ada with password={} from 10.0.0.3",
    "redis-cli -h cache -a {} ping",
    "PGPASSWORD={} psql -h db app",
    "    access_token: {}",
)

HELD_OUT_NAMED: tuple[str, ...] = (
    "spring.datasource.password={}",
    "ansible_become_password: {}",
    "<password>{}</password>",
    "Server=db;Database=app;User Id=sa;Password={};",
    "//registry.example.com/:_authToken={}",
    "X-Vault-Token: {}",
    "DATADOG_APP_KEY={}",
    "'secret' => '{}',",
    "ALTER USER app IDENTIFIED BY '{}';",
    "sshpass -p {} ssh ada@example.com",
    "docker login -u ada --password {} registry.example.com",
    "machine example.com login ada password {}",
    'client_secret="{}"',
    "amqps://app:{}@queue.internal:5671/prod",
    "- name: DB_PASSWORD\n  value: {}",
    "TWILIO_AUTH_TOKEN={}",
    '"privateKey" : "{}"',
    "session_secret = {}",
)

URL_FORMS = ("://", "-u admin:", "--user '")


@dataclass(frozen=True)
class Sample:
    """A text with a secret in it; `form` names the family, or the surroundings of a value."""

    text: str
    secret: str
    form: str
    is_held_out: bool


def build_samples(seed: int, per_form: int) -> Iterator[Sample]:
    """Yield samples of each family in each of the surroundings, and of each named form with each kind of value."""
    rng = random.Random(seed)
    for families, is_held_out in ((FAMILIES, False), (HELD_OUT_FAMILIES, True)):
        for name, make in families.items():
            for surrounding in SURROUNDINGS:
                for _ in range(per_form):
                    secret = make(rng)
                    yield Sample(surrounding.format(secret), secret, name, is_held_out)
    for forms, is_held_out in ((NAMED, False), (HELD_OUT_NAMED, True)):
        for form in forms:
            for kind, make in VALUES.items():
                for _ in range(per_form):
                    secret = make(rng)
                    if "://" in form and set(secret) & set("/@#?+%"):
                        continue  # would not be written like this in a URL
                    yield Sample(form.format(secret), secret, f"{form} ({kind})", is_held_out)


def is_leaked(sample: Sample, shown: str) -> bool:
    """Return whether a redacted text still shows six consecutive characters of the secret, its beginning excepted.

    Of a private key its lines count.
    """
    secret = sample.secret
    if secret.startswith("-----"):
        return any(line in shown for line in secret.splitlines()[1:-1])
    return any(secret[start : start + 6] in shown for start in range(min(8, len(secret) - 6), len(secret) - 5))
