"""Signatures of webhooks, against the examples of the senders' documentation and computed ones."""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.features.webhooks.signatures import SignatureScheme, find_delivery_id, is_signed, sign_event

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SECONDS = str(int(NOW.timestamp()))
SECRET = "It's a Secret to Everybody"
BODY = b"Hello, World!"


def hex_of(text: bytes) -> str:
    return hmac.new(SECRET.encode(), text, hashlib.sha256).hexdigest()


VALID: dict[SignatureScheme, dict[str, str]] = {
    "Sophon": {"X-Sophon-Signature": f"sha256={hex_of(BODY)}"},
    # The example of GitHub's page "Validating webhook deliveries".
    "GitHub": {
        "X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
    "Stripe": {"Stripe-Signature": f"t={SECONDS},v1={hex_of(SECONDS.encode() + b'.' + BODY)},v0=ff"},
    "Slack": {
        "X-Slack-Request-Timestamp": SECONDS,
        "X-Slack-Signature": f"v0={hex_of(b'v0:' + SECONDS.encode() + b':' + BODY)}",
    },
    "Standard": sign_event("msg_1", BODY, SECRET, NOW),
}


@pytest.mark.parametrize("scheme", VALID)
def test_each_scheme_accepts_its_own_signature_and_no_other(scheme: SignatureScheme) -> None:
    for other, headers in VALID.items():
        assert is_signed(scheme, headers, BODY, SECRET, NOW) is (
            scheme in (other, "Sophon") and scheme in _signs(other)
        )


def _signs(scheme: SignatureScheme) -> tuple[SignatureScheme, ...]:
    # An outgoing event has both headers, so that a host accepts it under either scheme.
    return ("Standard", "Sophon") if scheme == "Standard" else (scheme,)


@pytest.mark.parametrize("scheme", VALID)
@given(data=st.data())
def test_no_other_body_secret_or_header_is_accepted(scheme: SignatureScheme, data: st.DataObject) -> None:
    headers = dict(VALID[scheme])
    body = data.draw(st.binary(max_size=20).filter(lambda each: each != BODY))
    assert not is_signed(scheme, headers, body, SECRET, NOW)
    assert not is_signed(scheme, headers, BODY, data.draw(st.text(min_size=1).filter(lambda each: each != SECRET)), NOW)
    name = data.draw(st.sampled_from(sorted(headers)))
    changed = {**headers, name: data.draw(st.text(max_size=80).filter(lambda each: each.strip() != headers[name]))}
    if scheme != "Standard" or name != "X-Sophon-Signature":
        assert not is_signed(scheme, changed, BODY, SECRET, NOW) or headers[name] in changed[name]


@pytest.mark.parametrize("scheme", ["Stripe", "Slack", "Standard"])
@pytest.mark.parametrize(("minutes", "accepted"), [(0, True), (4, True), (6, False), (-4, True), (-6, False)])
def test_a_signed_time_must_be_recent(scheme: SignatureScheme, minutes: int, accepted: bool) -> None:
    assert is_signed(scheme, VALID[scheme], BODY, SECRET, NOW + timedelta(minutes=minutes)) is accepted


@pytest.mark.parametrize("name", ["id", "signature", "time"])
@pytest.mark.parametrize(
    "value", [b"\xff".decode("utf-8", "surrogateescape"), "\x00", "é", "t=1,v1=\udcff", "x" * 70_000]
)
@pytest.mark.parametrize("scheme", VALID)
def test_whatever_bytes_a_header_has_it_is_no_signature(scheme: SignatureScheme, value: str, name: str) -> None:
    headers = VALID[scheme]
    changed = next((each for each in headers if name in each.lower()), next(iter(headers)))
    assert not is_signed(scheme, {**headers, changed: value}, BODY, SECRET, NOW)


@pytest.mark.parametrize("scheme", VALID)
def test_a_request_without_headers_is_not_signed(scheme: SignatureScheme) -> None:
    assert not is_signed(scheme, {}, BODY, SECRET, NOW)


def test_a_secret_of_standard_webhooks_may_be_base64() -> None:
    # The example of the specification's repository.
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,bad v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    at = datetime.fromtimestamp(1614265330, UTC)
    assert is_signed("Standard", headers, b'{"test": 2432232314}', "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at)


def test_a_delivery_is_known_by_its_signed_id_or_its_body() -> None:
    assert find_delivery_id("Standard", {"webhook-id": "7"}, b"a") == "7"
    assert find_delivery_id("Sophon", {}, b"a") == find_delivery_id("Sophon", {}, b"a")
    assert find_delivery_id("Sophon", {}, b"a") != find_delivery_id("Sophon", {}, b"b")
