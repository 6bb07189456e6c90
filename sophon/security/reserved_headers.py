"""Names of request headers that neither a model nor a credential of the settings may set."""

from sophon._python.lazy_pattern import lazy_pattern

RESERVED_HEADERS = frozenset(
    {
        # routing and framing: set by the client itself
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        # claimed source or destination of the request
        "client-ip",
        "forwarded",
        "true-client-ip",
        "via",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-host",
        "x-http-method-override",
        "x-original-host",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
        # required by cloud metadata services
        "metadata",
        "metadata-flavor",
        "x-google-metadata-request",
    }
)
RESERVED_PREFIXES = ("proxy-", "sec-", "x-forwarded-", "x-aws-ec2-metadata-")

_NAME = lazy_pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def is_header_name(name: str) -> bool:
    """Return whether the text is a header name (RFC 9110, token)."""
    return _NAME.fullmatch(name) is not None


def normalize_header_name(name: str) -> str:
    """Return the name in lower case with dashes: many servers treat an underscore as a dash."""
    return name.lower().replace("_", "-")


def is_reserved_header(name: str) -> bool:
    """Return whether only the HTTP client may set the header."""
    plain = normalize_header_name(name)
    return plain in RESERVED_HEADERS or plain.startswith(RESERVED_PREFIXES)
