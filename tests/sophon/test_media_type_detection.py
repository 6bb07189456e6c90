"""The media type of a file follows from its content."""

from hypothesis import given
from hypothesis import strategies as st

from sophon.attachments import MAX_NAME_CHARACTERS, Attachment, clean_name
from sophon.media_type_detection import BINARY, decode_text, detect_media_type
from sophon.settings.sections.attachments import DEFAULT_MEDIA_TYPES
from tests.tables import table

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@table(
    ("content", "name", "expected"),
    [
        (b"\x89PNG\r\n\x1a\n....", "page.html", "image/png"),
        (b"\xff\xd8\xff\xe0", "x", "image/jpeg"),
        (b"GIF89a<script>", "x.js", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "", "image/webp"),
        (b"%PDF-1.7\n", "x.txt", "application/pdf"),
        (b"\n\n%PDF-1.7\n", "x", "application/pdf"),
        (SVG, "picture.svg", "text/plain"),
        (SVG, "picture.png", "text/plain"),
        (b"<!doctype html><script>alert(1)</script>", "a.html", "text/plain"),
        (b"# Title", "README.MD", "text/markdown"),
        (b"a,b\n1,2\n", "t.csv", "text/csv"),
        (b"{}", "t.json", "application/json"),
        (b"print(1)\n", "a.py", "text/plain"),
        ("grüße".encode(), "", "text/plain"),
        ("\ufeffgrüße".encode("utf-16-le"), "", "text/plain"),
        (b"\x1b[1mbold\x1b[0m\n", "log", "text/plain"),
        ("grüße".encode("latin-1"), "a.txt", BINARY),
        (b"PK\x03\x04", "a.txt", BINARY),
        (b"text\0", "a.txt", BINARY),
        (b"\x7fELF\x02\x01\x01\0", "a.md", BINARY),
        (b"\xff\xfe\x00", "a.md", BINARY),
    ],
)
def test_the_content_decides_and_the_name_chooses_among_kinds_of_text(content: bytes, name: str, expected: str) -> None:
    assert detect_media_type(content, name) == expected


@given(st.binary(max_size=200), st.text(max_size=30))
def test_no_file_is_ever_active_content(content: bytes, name: str) -> None:
    found = detect_media_type(content, name)
    assert found in (*DEFAULT_MEDIA_TYPES, BINARY)
    if found.startswith("text/"):
        assert decode_text(content) is not None


@given(st.text(max_size=300))
def test_text_is_recognised_in_any_language(text: str) -> None:
    encoded = text.encode("utf-8", "replace")
    decoded = decode_text(encoded)
    if decoded is not None:
        assert decoded.encode("utf-8-sig" if encoded.startswith(b"\xef\xbb\xbf") else "utf-8") == encoded


@table(
    ("name", "expected"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\a.txt", "a.txt"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("a\r\nSet-Cookie: x", "a__Set-Cookie: x"),
        ("gpj.\u202eexe", "gpj._exe"),
        ("x" * 300 + ".png", ("x" * 300 + ".png")[-MAX_NAME_CHARACTERS:]),
        ("\ud800.txt", "?.txt"),
    ],
)
def test_a_name_is_one_line_without_a_path(name: str, expected: str) -> None:
    assert clean_name(name) == expected


@given(st.text())
def test_a_name_never_leaves_its_folder(name: str) -> None:
    cleaned = clean_name(name)
    assert 1 <= len(cleaned) <= MAX_NAME_CHARACTERS
    assert cleaned.isprintable()
    assert not set(cleaned) & set("/\\")
    assert not cleaned.startswith(".")
    assert clean_name(cleaned) == cleaned


def test_an_attachment_survives_json() -> None:
    attachment = Attachment("a", "b.png", "image/png", 5, 7)
    assert Attachment.from_json(attachment.to_json()) == attachment
