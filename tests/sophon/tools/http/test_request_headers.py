"""Headers that a model may set, and those that travel."""

import pytest

from sophon.errors import ToolError
from sophon.tools.http.client import drop_body_headers, keep_cross_origin_headers, validate_headers
from tests.tables import table


@table(
    "name",
    [
        *("Authorization", "COOKIE", "host", "Proxy-Authorization"),
        *("Set-Cookie", "X-Api-Key", "x_api_key", "X-Auth-Token", "PRIVATE-TOKEN", "X-Goog-Api-Key", "Api-Key"),
        *("proxy-connection", "X-Forwarded-For", "Forwarded"),
        *("X_Forwarded_Host", "X-Real-IP", "Content-Length", "Transfer-Encoding", "transfer_encoding", "Connection"),
        *("Upgrade", "Accept-Encoding", "Metadata", "Metadata-Flavor"),
        *("X-aws-ec2-metadata-token", "Via", "Sec-Fetch-Site"),
    ],
)
def test_a_header_that_is_not_the_models_to_set_is_refused_by_name(name: str) -> None:
    with pytest.raises(ToolError, match=name):
        validate_headers({"accept": "*/*", name: "x"})


@table("name", ["", "a b", "a:b", "a\r\nhost", "ä", " host", "host "])
def test_a_malformed_name_is_refused(name: str) -> None:
    with pytest.raises(ToolError, match="not a header name"):
        validate_headers({name: "x"})


@table("value", ["a\r\nHost: b", "a\n", "\x00", "ä", "\x7f"])
def test_a_malformed_value_is_refused(value: str) -> None:
    with pytest.raises(ToolError, match="printable ASCII"):
        validate_headers({"x-note": value})


def test_other_headers_pass_in_lower_case() -> None:
    assert validate_headers({"Accept": "a/b", "X-Request-Id": "k", "Hostess": "h"}) == {
        "accept": "a/b",
        "x-request-id": "k",
        "hostess": "h",
    }


def test_only_harmless_headers_travel_to_another_origin() -> None:
    assert keep_cross_origin_headers({"accept": "a", "x-api-key": "k", "content-type": "c"}) == {
        "accept": "a",
        "content-type": "c",
    }


def test_without_a_body_nothing_describes_it() -> None:
    assert drop_body_headers({"accept": "a", "content-type": "c", "content-language": "de"}) == {"accept": "a"}
