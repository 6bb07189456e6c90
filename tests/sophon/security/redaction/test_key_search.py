"""Keys in texts: found where one stands, and not where a text is about keys or shows an example."""

import base64
import hashlib
import json
from time import process_time

from sophon.security.redaction.key_search import holds_key
from sophon.security.redaction.known_secrets import KNOWN_SECRETS
from tests.tables import table


def draw(seed: str, length: int) -> str:
    """Return as many characters of base64 that nobody has as a key."""
    raw = b"".join(hashlib.sha512(f"{seed}{n}".encode()).digest() for n in range(length // 64 + 1))
    return base64.b64encode(raw).decode().replace("+", "a").replace("/", "7")[:length]


def draw_hex(seed: str, length: int) -> str:
    return hashlib.sha256(seed.encode()).hexdigest()[:length]


BODY = "\n".join(draw(f"line {n}", 64) for n in range(8))
PRIVATE_KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----\n"
KEYS = [
    f"aws_access_key_id = AKIA{draw('a', 30).upper()[:16]}",
    f"[default]\naws_secret_access_key = {draw('b', 40)}\n",
    f"export AWS_SECRET_ACCESS_KEY={draw('c', 40)}",
    f"OPENAI_API_KEY=sk-{draw('d', 48)}",
    f'"api_key": "sk-proj-{draw("e", 40)}"',
    f"the token is ghp_{draw('f', 36)}, keep it",
    f"github_pat_{draw('g', 60)}",
    f"xoxb-{draw_hex('h', 12)}-{draw('h', 24)}",
    f"AIza{draw('i', 35)}",
    f"glpat-{draw('j', 20)}",
    f"hf_{draw('k', 34)}",
    f"STRIPE_KEY=sk_live_{draw('l', 24)}",
    f"whsec_{draw('m', 32)}",
    f"SG.{draw('n', 22)}.{draw('o', 43)}",
    PRIVATE_KEY,
    "key:\n" + PRIVATE_KEY.replace("\n", "\r\n"),
    json.dumps({"type": "service_account", "private_key": PRIVATE_KEY}),
    "-----BEGIN OPENSSH PRIVATE KEY-----\n" + BODY + "\n-----END OPENSSH PRIVATE KEY-----",
    f"client_secret: {draw('p', 32)}",
    f"session_token: '{draw('q', 64)}'",
    f"postgres://app:{draw('r', 24)}@db.internal/app",
    f"Authorization: Bearer {draw('s', 40)}",
    f"eyJ{draw('t', 30)}.eyJ{draw('u', 40)}.{draw('v', 43)}",
    f"DB_PASSWORD={draw('w', 24)}",
    f"webhook_secret = {draw_hex('x', 32)}",
    f"738462915:{draw('y', 35)}",
    "x" * 20_000 + f" ghp_{draw('z', 36)} " + "y" * 20_000,
]
ORDINARY = [
    "",
    "How to rotate your API keys: open the console and choose a new password.",
    'password = "hunter22"',
    "password: correct horse battery staple",
    "password = settings.password1",
    "api_key = os.environ['OPENAI_API_KEY']",
    "api_key: str | None = None",
    'OPENAI_API_KEY="sk-your-key-here-0123456789"',
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "postgres://user:password@localhost:5432/app",
    "postgres://app:app123@db/app",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.c2lnbmF0dXJl",
    "token = get_token(request, timeout=30)",
    "-----BEGIN CERTIFICATE-----\n" + BODY + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + BODY + "\n-----END PUBLIC KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    "assert text.startswith('-----BEGIN PRIVATE KEY-----')",
    f"sha256:{draw_hex('a', 64)}",
    f"key: deps-v1-{draw_hex('b', 32)}",
    f"https://example.org/list?page_token={draw('c', 40)}",
    f"https://bucket.s3.amazonaws.com/a?X-Amz-Signature={draw_hex('d', 64)}",
    f"integrity sha512-{draw('e', 88)}",
    f"commit {draw_hex('f', 40)}",
    "id = 3f2b8c1d-7c55-4a46-9e2b-0a1b2c3d4e5f",
    "secret_name: my-production-database-secret-2024",
    "service_key: authentication-and-authorization-v2",
    "access_token: [REDACTED]",
    f"pk_live_{draw('g', 24)}",
    "secret = 'Passw0rd!'",
    "auth_token = '0000000000000000000000000000000000000000'",
    "def test_key(): assert key == 'abcdef0123456789abcdef0123456789'",
    "The tokens of the model: 128000 in, 4096 out; api_key=None",
]


@table("text", KEYS)
def test_a_key_is_found(text: str) -> None:
    assert holds_key(text)


@table("text", ORDINARY)
def test_an_ordinary_text_holds_none(text: str) -> None:
    assert not holds_key(text)


def test_a_secret_of_the_settings_is_a_key_whatever_its_form() -> None:
    before = KNOWN_SECRETS.values
    try:
        KNOWN_SECRETS.add("of-small-letters")
        assert holds_key("it is of-small-letters, they say")
    finally:
        KNOWN_SECRETS.restore(before)


@table(
    "part",
    [
        "-----BEGIN PRIVATE KEY-----",
        "password = hunter22 ",
        "ghp_example ",
        "api_key=",
        "eyJ",
        "a1b2c3 ",
        f"-u a:{'b' * 9} ",
    ],
)
def test_the_time_is_linear(part: str) -> None:
    small, large = (part * (size // len(part)) for size in (50_000, 400_000))
    holds_key(small)
    begun = process_time()
    holds_key(small)
    between = process_time()
    holds_key(large)
    assert process_time() - between < 40 * max(between - begun, 0.01)
