"""Reading a URL: what is refused for its text alone, what is a private name, what is read and how."""

import pytest

from sophon.tools.http.strict_url_parsing import InvalidUrl, UrlOrigin, explain_private_name, parse_origin
from tests.tables import table

ODD_NUMBERS = [
    *("2130706433", "3232235777", "0x7f000001", "0X7F000001", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "127.1"),
    *("127.0.1", "0", "0x0", "0x", "00000177.1", "0x7f.1", "127.0x1", "127.0.0.0x1", "127.0.0.01", "127.00.0.1"),
    *("127.0.0.1.1", "256.256.256.256", "127.0.0.256", "4294967296"),
    *("18446744073709551617", "127.0.0.1.", "1.2.3.4.."),
    *(
        "8.8.8.8.",
        "134744072",
        "0x08080808",
        "010.8.8.8",
        "8.8.8.08",
        "foo.1",
        "example.0x7f",
        "a.b.09",
        "127..1",
        "+1",
    ),
]
ODD_TEXTS = [
    *(
        "①②⑦.⓪.⓪.①",
        "１２７.０.０.１",
        "127．0．0．1",
        "127。0。0。1",
        "127｡0｡0｡1",
        "169。254。169。254",
        "１２７。1",
        "𝟏𝟐𝟕.0.0.1",
    ),
    *(
        "ｌｏｃａｌｈｏｓｔ",
        "localhoſt",
        "loc\u00adalhost",
        "local\u200bhost",
        "ℓocalhost",
        "\u212aexample.com",
        "١٢٧.٠.٠.١",
    ),
    *("ex\u2025ample.com", "example.com\u2100", "a\u2024b.com", "\u202elocalhost", "\ud800.com", "%31%32%37.0.0.1"),
    *("127%2e0%2e0%2e1", "localhost%00.example.com", "%6cocalhost", "example%2ecom", "example.com%2f", "a%40b.com"),
    *("", ".", "..", ".com", "a..b", "example.com.."),
    *("a" * 64 + ".com", "a." * 130 + "com", "a b.com", "a\u00a0b.com"),
    *("a!b.com", "a,b.com", "a;b.com", "a'b.com", "a*b.com", "a|b.com", "a^b.com", "a<b.com", "a{b}.com", "a$b.com"),
    *("::1", "1::2", "[::1", "::1]", "[::1]x", "x[::1]", "[]", "[127.0.0.1]", "[localhost]", "[::ffff:127.0.0.1.2]"),
    *(
        "[::ffff:0177.0.0.1]",
        "[::ffff:127.1]",
        "[v1.x]",
        "[:::1]",
        "[1:2:3:4:5:6:7:8:9]",
        "[12345::]",
        "[::g]",
        "[::1]]",
    ),
    *("[::ffff:256.0.0.1]", "[%31::]", "[fe80::1%]", "[::１]", "[[::1]]"),
]


@table("host", [*ODD_NUMBERS, *ODD_TEXTS])
def test_a_host_in_an_odd_spelling_is_refused(host: str) -> None:
    with pytest.raises(InvalidUrl):
        parse_origin(f"http://{host}/")


@table(
    "url",
    [
        *(
            "",
            "x",
            "example.com",
            "//example.com/",
            "/x",
            "http:",
            "http:/",
            "http://",
            "http:///",
            "http:///127.0.0.1/",
        ),
        *("http:127.0.0.1/", "http:/127.0.0.1/", "http:example.com", "http//example.com/", "http://?x", "http://#x"),
        *("file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1:6379/_", "ftp://example.com/"),
        *(
            "data:text/plain,x",
            "javascript:alert(1)",
            "dict://example.com:11211/",
            "ldap://example.com/",
            "ws://a.com/",
        ),
        *("wss://a.com/", "tftp://a.com/", "sftp://a.com/", "jar:http://example.com!/a", "view-source:http://a.com/"),
        *(
            "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
            "unix:///var/run/docker.sock",
            "httpſ://example.com/",
            "about:x",
        ),
        *(
            "url:http://example.com/",
            "ｈttp://example.com/",
            "httpx://example.com/",
            "blob:http://a.com/x",
            "netdoc:///x",
        ),
        *("http://user@example.com/", "http://user:pw@example.com/", "http://@example.com/", "http://:@example.com/"),
        *("http://a@b@127.0.0.1/", "http://example.com@127.0.0.1/", "http://127.0.0.1@example.com/"),
        *("http://example.com:80@127.0.0.1/"),
        *("http://127.0.0.1:80@example.com:80/", "http://example.com%40127.0.0.1/"),
        *("http://127.0.0.1#@example.com/", "http://127.0.0.1?@example.com/", "http://example.com#@127.0.0.1/"),
        *(
            "http://127.0.0.1\\@example.com/",
            "http://example.com\\@127.0.0.1/",
            "http:\\\\127.0.0.1\\",
            "http:/\\127.0.0.1/",
        ),
        *("http://example.com\\.127.0.0.1/", "http://example.com/a\\b", "http://example.com\\", "\\\\example.com\\x"),
        *(
            " http://127.0.0.1/",
            "http://127.0.0.1/ ",
            "\thttp://a.com/",
            "http://a.com/\n",
            "ht\ntp://a.com/",
            "\u00a0http://a.com/",
        ),
        *(
            "http://exam\tple.com/",
            "http://127.0.0\n.1/",
            "http://a.com/\r\nHost: b",
            "http://a.com/\x00",
            "http://a\x7f.com/",
        ),
        *("http://a.com/\x85", "http:// a.com/", "http://a.com /", "http://a.com\u3000/"),
        *(
            "http://example.com:0/",
            "http://example.com:00000/",
            "http://example.com:65536/",
            "http://example.com:65616/",
        ),
        *(
            "http://example.com:99999999/",
            "http://example.com:-1/",
            "http://example.com:+80/",
            "http://example.com:80:80/",
        ),
        *("http://example.com:８０/", "http://example.com:0x50/"),
        *("http://example.com:80a/", "http://example.com: 80/"),
        *(
            "http://:80/",
            "http://[::1]:0/",
            "http://[::1]80/",
            "http://example.com:8%30/",
            "http://" + "a" * 70_000 + ".com/",
        ),
    ],
)
def test_a_url_that_readers_read_differently_is_refused(url: str) -> None:
    with pytest.raises(InvalidUrl):
        parse_origin(url)


@table(
    ("url", "origin"),
    [
        ("http://example.com", ("http", "example.com", 80)),
        ("HTTPS://EXAMPLE.com/", ("https", "example.com", 443)),
        ("https://example.com./", ("https", "example.com", 443)),
        ("https://example.com:/", ("https", "example.com", 443)),
        ("https://example.com:443", ("https", "example.com", 443)),
        ("http://example.com:65535/", ("http", "example.com", 65535)),
        ("https://example.com?q=http://127.0.0.1/", ("https", "example.com", 443)),
        ("https://example.com/@user", ("https", "example.com", 443)),
        ("https://example.com/#@127.0.0.1/", ("https", "example.com", 443)),
        ("https://example.com/?u=a@127.0.0.1", ("https", "example.com", 443)),
        ("https://example.com/127.0.0.1/localhost", ("https", "example.com", 443)),
        ("https://example.com/%5c%00%0d", ("https", "example.com", 443)),
        ("https://example.com/a b/ü?q=ä", ("https", "example.com", 443)),
        ("https://127.0.0.1.example.com/", ("https", "127.0.0.1.example.com", 443)),
        ("https://10.example/", ("https", "10.example", 443)),
        ("https://1e100.net/", ("https", "1e100.net", 443)),
        ("https://0x7f.example.com/", ("https", "0x7f.example.com", 443)),
        ("https://_dmarc.my_bucket.example.com/", ("https", "_dmarc.my_bucket.example.com", 443)),
        ("https://r3---sn-x.example.com/", ("https", "r3---sn-x.example.com", 443)),
        ("https://bücher.example/", ("https", "xn--bcher-kva.example", 443)),
        ("https://BÜCHER.example./", ("https", "xn--bcher-kva.example", 443)),
        ("https://xn--bcher-kva.example/", ("https", "xn--bcher-kva.example", 443)),
        ("https://straße.de/", ("https", "xn--strae-oqa.de", 443)),
        ("https://例え.テスト/", ("https", "xn--r8jz45g.xn--zckzah", 443)),
        ("https://例子。中国/", ("https", "xn--fsqu00a.xn--fiqs8s", 443)),
        ("https://пример.рф/", ("https", "xn--e1afmkfd.xn--p1ai", 443)),
        ("https://مثال.إختبار/", ("https", "xn--mgbh0fb.xn--kgbechtv", 443)),
    ],
)
def test_a_plain_url_is_read_as_the_client_reads_it(url: str, origin: tuple[str, str, int]) -> None:
    assert parse_origin(url) == UrlOrigin(*origin, is_address=False)


@table(
    ("url", "host"),
    [
        ("http://8.8.8.8/", "8.8.8.8"),
        ("HTTP://127.0.0.1/", "127.0.0.1"),
        ("http://[::1]:80/", "::1"),
        ("http://[0:0:0:0:0:0:0:1]/", "0:0:0:0:0:0:0:1"),
        ("http://[::FFFF:7F00:1]/", "::FFFF:7F00:1"),
    ],
)
def test_a_literal_is_known_as_one(url: str, host: str) -> None:
    assert parse_origin(url) == UrlOrigin("http", host, 80, is_address=True)


@table(
    "host",
    [
        *(
            "localhost",
            "foo.localhost",
            "a.b.localhost",
            "localhost.localdomain",
            "localhost6.localdomain6",
            "localhost6",
        ),
        *("localhost4.localdomain4", "ip6-localhost", "ip6-loopback", "broadcasthost", "intranet", "metadata"),
        *(
            "instance-data",
            "printer.local",
            "kubernetes.default.svc.cluster.local",
            "kubernetes.default.svc",
            "nas.lan",
        ),
        *(
            "metadata.google.internal",
            "host.docker.internal",
            "instance-data.ec2.internal",
            "router.home.arpa",
            "home.arpa",
        ),
        *("nas.home", "mail.corp", "x.intranet", "x.private", "metadata.goog", "local", "internal"),
    ],
)
def test_a_private_name_is_known_without_a_look_up(host: str) -> None:
    assert explain_private_name(host)


@table(
    "host",
    [
        *("example.com", "notlocalhost.com", "localhost.example.com"),
        *("localhost.com", "local.example", "mylocal.net"),
        *("metadata.google.internal.example.com", "notinternal.com"),
        *("x.notlocal", "foolocalhost.org", "home.arpa.net"),
        *("internal.example.com", "svc.example.com", "lan.de", "example.homes", "google.com", "notmetadata.goog"),
    ],
)
def test_a_suffix_counts_on_label_borders_only(host: str) -> None:
    assert explain_private_name(host) is None
