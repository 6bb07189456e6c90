"""Secrets are replaced, the rest stays: a table of forms, ordinary text, and what holds for every text."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import ModelError, SettingsError
from sophon.security import MARKER, StreamRedactor, describe_error, redact
from sophon.security.redaction.known_secrets import MIN_CHARACTERS, KnownSecrets
from tests.tables import table

KEYS = [
    "sk-" + "a" * 20,
    "sk-ant-api03-" + "x" * 30,
    "sk-proj-abc_DEF-123456789012345",
    "sk-or-v1-" + "0a" * 32,
    "AIza" + "B" * 35,
    "ya29." + "a" * 30,
    "ghp_" + "a1" * 18,
    "github_pat_" + "1a" * 20,
    "glpat-" + "a1" * 10,
    "xoxb-1234567890-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def-ghi",
    "hf_" + "a" * 30,
    "hf_AbCd1234_efGh5678-ijKl9012",
    "npm_" + "a1B2" * 9,
    "tvly-dev-" + "aB3" * 10,
    "nvapi-" + "aB-3_" * 12,
    "sk-a1b2-c3d4-e5f6-a7b8",
    "sk-team-prod-8f3k2j",
    "gsk_" + "Z" * 40,
    "xai-" + "q" * 40,
    "sk_live_" + "a" * 24,
    "SG." + "a" * 22 + "." + "b" * 43,
    "EAA" + "G1" * 20,
    "123456789:AAE" + "x" * 32,
]
FRAMES = ["{}", "key {} refused", '"{}"', "x={}&y", "({})", "Incorrect API key provided: {}.", "'{}',", "{}\n"]


@table("frame", FRAMES)
@table("key", KEYS)
def test_a_key_of_a_known_form_is_replaced_wherever_it_stands(key: str, frame: str) -> None:
    shown = redact(frame.format(key))
    assert key not in shown
    assert "REDACTED" in shown


@table(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [REDACTED]"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "{'Authorization': 'Basic [REDACTED]'}"),
        ("sent Bearer abcdefghijklmnopqrstuvwxyz!", "sent Bearer [REDACTED]!"),
        ("postgresql://ada:p@ss@db/sophon", "postgresql://ada:[REDACTED]@db/sophon"),
        ("postgresql://db/x?sslpassword=hunter&a=1", "postgresql://db/x?sslpassword=[REDACTED]&a=1"),
        ("GET /x?token=abcdef&y=1", "GET /x?token=[REDACTED]&y=1"),
        ("https://g/v1?key=abcdefgh12", "https://g/v1?key=[REDACTED]"),
        ("https://g/v1?api-key=abc", "https://g/v1?api-key=[REDACTED]"),
        ("password=hunter22 x", "password=[REDACTED] x"),
        ("user=ann password=hunter2 host=db", "user=ann password=[REDACTED] host=db"),
        ("secret_key=abcdef", "secret_key=[REDACTED]"),
        ("DB_PASSWORD=dragon\nDB=x", "DB_PASSWORD=[REDACTED]\nDB=x"),
        ("token=abcdefgh12345678", "token=[REDACTED]"),
        ('{"password": "hunter2"}', '{"password": "[REDACTED]"}'),
        ("password: hunter2hunter2", "password: [REDACTED]"),
        ("pwd=/abc123def456", "pwd=[REDACTED]"),
        ('{"password": "string1"}', '{"password": "[REDACTED]"}'),
        ("sent Bearer abc-def-ghi-jkl-mno-12 x", "sent Bearer [REDACTED] x"),
        ("GET /x?access_token=abcdef&page_token=x", "GET /x?access_token=[REDACTED]&page_token=x"),
        ("api_key=abcdefghijklmnop1234", "api_key=[REDACTED]"),
        ("OPENAI_API_KEY=abcd1234abcd1234", "OPENAI_API_KEY=[REDACTED]"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[REDACTED]"),
        ("X-Api-Key: abcdefghij1234567890", "X-Api-Key: [REDACTED]"),
        ('"{\\"api_token\\": \\"abcdefg1abcdefg1\\"}"', '"{\\"api_token\\": \\"[REDACTED]\\"}"'),
        ("token: 0123456789abcdef0123456789abcdef", "token: [REDACTED]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- tail", "[REDACTED] tail"),
        ("-----BEGIN PRIVATE KEY-----\nabc", "[REDACTED]"),
        ("https://api.telegram.org/file/bot12:short-one/p", "https://api.telegram.org/file/bot12:[REDACTED]/p"),
    ],
)
def test_only_the_value_is_replaced(text: str, shown: str) -> None:
    assert redact(text) == shown


@table(
    "text",
    [
        "f(password=secret)",
        "f(a, password=answer, b=1)",
        "password=passwd",
        "password=string",
        "secret=short",
        "pwd=a.b.cde",
    ],
)
def test_a_short_word_of_code_is_no_password(text: str) -> None:
    assert redact(text) == text


BEHIND_ESCAPES = ["\\n", "\\t", "\\r", "\\u000a", "\\\\n", "\\x0a", "%0A", "\x1b[31m"]


@table("escape", BEHIND_ESCAPES)
@table("key", [*KEYS, "token: " + "0123456789abcdef" * 2, "password hunter22x", "--password hunter22x"])
def test_a_key_behind_an_escape_is_replaced(key: str, escape: str) -> None:
    assert key not in redact(f'{{"a": "x{escape}{key}"}}')


@table("depth", [0, 1, 3, 7])
def test_a_password_in_json_within_json_is_replaced(depth: int) -> None:
    quote = "\\" * depth + '"'
    assert "hunter22" not in redact(f"{quote}password{quote}: {quote}hunter22{quote}")


PUNCTUATED = [
    "password={}",
    "password: {}",
    '"password": "{}"',
    "DB_PASSWORD={} run",
    "secret_key={}",
    "encryption_key={}",
    "signing_key: {}",
]
PASSWORDS = ["hunter2", "p$ssw*rd1", "Tr0ub4dor&3", "Tr0ub[4]dor", "$ecret99!", "ab]c1def", "k&9*$[x]z"]


@table("frame", PUNCTUATED)
@table("password", PASSWORDS)
def test_a_password_is_replaced_to_its_end(frame: str, password: str) -> None:
    assert redact(frame.format(password)) == frame.format(MARKER)


@table("password", ["a(b)c}d{1", "ab,cd;ef12", "kRaOPac.PrOfq", "ab>cd<12;"])
def test_in_quotes_a_password_has_any_character(password: str) -> None:
    assert redact(f'"password": "{password}"') == f'"password": "{MARKER}"'


@table("frame", ["token={}", "token: {}", '"token": "{}"'])
def test_a_token_of_16_letters_and_digits_is_replaced(frame: str) -> None:
    assert redact(frame.format("abcdefgh12345678")) == frame.format(MARKER)


ORDINARY = [
    "token count: 1234",
    "password=new_password, secret_key=secret_key",
    "password = items1[0]",
    "password=config1['name']",
    "'password': '${DB_PASSWORD1}'",
    "password=$DB_PASSWORD1",
    "'password': 'x{password1}'",
    "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestSecret-a1b2c3",
    "a=1&password=&page=20000000",
    "sorted(items, key=lambda x: x)",
    "token = tokens[0]",
    "max_tokens=4096, total_tokens: 12345",
    "password=get_password()",
    "password = settings.password",
    "def login(user: str, password: str) -> None:",
    "Enter your password: required",
    "the key is missing",
    "secret: Optional[str]",
    "sk-learn is a library",
    "https://example.org/a?page=2&key=name",
    "http://127.0.0.1:8080/sessions?limit=20",
    "mail to ada@example.org at 12:30",
    "basic authentication is off",
    "Bearer authentication is required",
    "git@github.com:a/b.git",
    "commit 1234567890abcdef1234567890abcdef12345678",
    "api_key=os.environ['OPENAI_API_KEY']",
    "export TOKEN=$(cat token)",
    "password=$PASSWORD",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "KeyError: 'password'",
    "invalid token: ','",
    '{"token": null, "password": None}',
    "const apiKey = process.env.API_KEY;",
    "api_key = load_api_key(settings, name)",
    "password_hash = hashlib.sha256(password)",
    "the environment variable OPENAI_API_KEY is not set",
    "PWD=/home/user1/projects",
    "OLDPWD=/home/user1/x",
    "pwd: /usr/local/lib/python3.11",
    '{"password": "string"}',
    "npm-check-updates-for-all-packages-in-repo",
    "hf_transformers_library_for_model_x",
    "csk-super-kings-chennai-ipl-2023-season",
    "sk-dist-2024-release-notes",
    "https://api.example/?page_token=CAUQAA&x=1",
    "Bearer authentication-and-authorization is used",
]


@table("text", ORDINARY)
def test_ordinary_prose_and_code_stay(text: str) -> None:
    assert redact(text) == text


PIECES = st.one_of(
    st.sampled_from(
        [
            *KEYS,
            *ORDINARY,
            *BEHIND_ESCAPES,
            *PASSWORDS,
            MARKER,
            "password=",
            "token: ",
            "api_key=",
            "://a:",
            "@",
            "&key=",
            "?token=",
            "Bearer ",
            "bot",
        ]
    ),
    st.text("abcXYZ0189-_./:=@&?\"'\\[]( \n", max_size=24),
    st.text(max_size=8),
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(), st.sampled_from(KEYS), st.text())
def test_a_key_between_spaces_is_never_left(before: str, key: str, after: str) -> None:
    assert key not in redact(f"{before} {key} {after}")


@table(
    "unit",
    [
        *(
            "a",
            " ",
            "1:",
            "x@",
            '\\"',
            "sk-",
            "sk-a-",
            "eyJ",
            "eyJaaaaaaaa.",
            "://a:",
            "?token=",
            "Bearer ",
            "api_key: ",
        ),
        *("password=", "password=aaaaaaa.", "key=a.a.a.", "authorization: ", "shared_access_", "-----BEGIN "),
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_the_time_is_linear_in_the_length_of_the_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        spent: list[float] = []
        for _ in range(3):
            start = time.process_time()
            redact(text)
            spent.append(time.process_time() - start)
        return min(spent)

    assert seconds(80_000) < 20 * seconds(10_000) + 0.05


def test_a_known_value_is_found_in_any_form_and_the_longest_first() -> None:
    known = KnownSecrets()
    for value in ("correct/horse", "correct/horse/battery", "short", "postgres"):
        known.add(value)
    assert known.replace("it is correct/horse/battery!", MARKER) == f"it is {MARKER}!"
    assert known.replace("GET /x?q=correct%2Fhorse", MARKER) == f"GET /x?q={MARKER}"
    assert known.replace("a short one", MARKER) == "a short one"
    assert known.replace("postgresql and postgres", MARKER) == f"postgresql and {MARKER}"


def test_values_that_threads_add_at_the_same_time_are_all_known() -> None:
    known = KnownSecrets()
    values = [f"correct-horse-{number}" for number in range(100)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(known.add, values))
    finally:
        sys.setswitchinterval(interval)
    assert [value for value in values if known.replace(value) != MARKER] == []


@table("value", ["REDACTED", "[REDACTED]", MARKER[:MIN_CHARACTERS]])
def test_a_value_that_the_marker_holds_is_not_searched_for(value: str) -> None:
    known = KnownSecrets()
    known.add(value)
    assert known.replace(MARKER, MARKER) == MARKER


def test_an_error_has_no_secret_from_the_moment_it_is_made() -> None:
    error = ModelError(f"HTTP 401: {KEYS[0]} is wrong", provider="p", model="m")
    assert KEYS[0] not in f"{error} {error!r} {error.args}"
    assert KEYS[0] not in str(SettingsError([f"A: {KEYS[0]}"]).problems)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError


@table(
    ("error", "text"),
    [
        (ValueError("no password=hunter22"), f"no password={MARKER}"),
        (ValueError(), "ValueError"),
        (Unprintable(), "Unprintable"),
    ],
)
def test_any_exception_has_a_description_without_secrets(error: Exception, text: str) -> None:
    assert describe_error(error) == text


ESCAPED = {
    "JSON of .NET in JSON": r'{"a":"{\u0022password\u0022: \u0022hunter2x\u0022}"}',
    "deeper JSON": r'{"a":"{\\u0022password\\u0022:\\u0022hunter2x\\u0022}"}',
    "JSON of Gson": r'{"a":"password\u003dhunter2x"}',
    "quote of Gson": r'{"a":"password\u003d\u0027hunter2x\u0027"}',
    "query in JSON of Go": r'{"u":"https://x.example/c?sv=2020\u0026sig=hunter2x"}',
    "query in JSON of Gson": r'{"u":"https://x.example/c?sv\u003d2020\u0026sig\u003dhunter2x"}',
    "query in HTML": '<a href="https://x.example/c?sv=2020&amp;sig=hunter2x">',
    "JSON in HTML": "&quot;password&quot;: &quot;hunter2x&quot;",
    "JSON in an attribute": "&#34;password&#34;:&#34;hunter2x&#34;",
    "sign in HTML": "password&#61;hunter2x",
    "sign in a URL": "https://x.example/?next=a%3Fpassword%3Dhunter2x",
    "colours of a terminal": "\x1b[32mAPI_KEY=hunter2x\x1b[0m ok",
    "constant of PHP": "define( 'DB_PASSWORD', 'hunter2x' );",
    "attribute of XML": '<add key="password" value="hunter2x"/>',
}


@table("text", ESCAPED.values())
def test_a_secret_is_found_between_escaped_signs(text: str) -> None:
    shown = redact(text)
    assert shown == text.replace("hunter2x", "[REDACTED]")
    for cut in range(len(text)):
        redactor = StreamRedactor()
        assert redactor.feed(text[:cut]) + redactor.feed(text[cut:]) + redactor.flush() == shown


@table(
    "url",
    [
        "https://hooks.slack.com/services/T00000000/B00000000/abcdEFGH1234ijklMNOP5678",
        f"https://discord.com/api/webhooks/123456789012345678/{'abcdEFGH12' * 6}",
    ],
)
def test_the_address_of_a_webhook_is_a_secret(url: str) -> None:
    assert redact(f"see {url}.") == "see https://[REDACTED]."
