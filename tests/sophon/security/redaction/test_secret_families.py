"""The families of keys that the references name (WASP, OpenParallax), and what is near them."""

from sophon.security import redact
from tests.tables import table

RANDOM = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3Ab4Cd5Ef6Gh7Ij8"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"

SECRETS = [
    ("sk-proj-", RANDOM),
    ("sk-", RANDOM[:20]),
    ("sk-ant-api03-", RANDOM),
    ("AIza", RANDOM[:25]),
    ("xai-", RANDOM[:20]),
    ("sk-", RANDOM[:48]),
    ("hf_", RANDOM[:34]),
    ("Bearer ", RANDOM[:20]),
    ("Authorization: Bearer ", RANDOM[:20]),
    ("api-key: ", RANDOM[:20]),
    ("access-token=", RANDOM[:20]),
    ("password=", "hunter22"),
    ("passwd: ", "hunter22"),
    ("pwd=", "hunter22"),
    ("secret=", "hunter22"),
    ("key=", RANDOM[:32]),
    ("token = ", RANDOM[:32]),
    ("AKIA", "IOSFODNN7EXAMPLE"),
    ("aws_secret_access_key = ", AWS_SECRET),
    ('"SecretAccessKey": "', AWS_SECRET),
    ("sk_live_", RANDOM[:24]),
    ("pk_test_", RANDOM[:24]),
    ("rk_live_", RANDOM[:24]),
    ("xoxb-", "1234567890-abcdefghij"),
    ("xoxs-", "1234567890-abcdefghij"),
    ("SG.", f"{RANDOM[:22]}.{RANDOM[:43]}"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "b3BlbnNzaC1rZXk"),
    ("ghp_", RANDOM[:36]),
    ("eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxIn0.abc_def-ghi"),
    ("postgres://ada:", "pw1x@"),
    ("mongodb+srv://ada:", "p%40w@"),
    ("redis://:", "pw1x@"),
]
NEAR = [
    "sk-learn and sk-image",
    "AIzawa is a name",
    "xai-explainability",
    "hf_hub_download(repo)",
    "AKIA is the prefix of a key",
    "aws_secret_access_key = None",
    "rk_live_ is the prefix",
    "xoxb- is the prefix",
    "SG.example.org",
    "-----BEGIN CERTIFICATE-----\nMIIE",
    "postgres://db.example.org:5432/x",
    "redis://localhost:6379/0",
    "password reset",
    "token = next(tokens)",
]


@table(("prefix", "secret"), SECRETS)
def test_a_key_of_a_family_is_replaced(prefix: str, secret: str) -> None:
    shown = redact(f"{prefix}{secret}")
    assert "REDACTED" in shown
    assert secret.rstrip("@") not in shown


@table("text", NEAR)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert redact(text) == text
