"""The text of documents in messages: what is read, what is not, and that a hostile file costs a bounded time."""

import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from sophon.clock import SystemClock
from sophon.testing import VirtualClock
from sophon_channels.contract import ChannelAttachment
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.inbound.attachment_downloads import DocumentTexts

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PDF, DOCX = ChannelAttachment("f", "document", "a.pdf"), ChannelAttachment("f", "document", "a.docx")


def pdf(text: str) -> bytes:
    """A PDF of one page with a text."""
    drawn = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
    ]
    written, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(written)
    return written + b"xref\n0 5\n0000000000 65535 f \n%strailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        start,
    )


def docx(xml: bytes) -> bytes:
    """A Word document with this XML."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", xml)
    return packed.getvalue()


def paragraphs(*texts: str) -> bytes:
    inner = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    return f'<w:document xmlns:w="{WORD}"><w:body>{inner}</w:body></w:document>'.encode()


async def extract(folder: Path, content: bytes, file: ChannelAttachment) -> str:
    """The text of a document, or why there is none."""
    path = folder / file.name
    path.write_bytes(content)
    found = await DocumentTexts(SystemClock()).extract(file, path)
    return found.read_text() if isinstance(found, Path) else f"! {found}"


async def test_a_word_document_is_read_paragraph_by_paragraph(tmp_path: Path) -> None:
    assert await extract(tmp_path, docx(paragraphs("one", "two &amp; three")), DOCX) == "one\ntwo & three"


async def test_a_pdf_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdf", reason="the extra `documents` is not installed")
    assert "Hello from a page" in await extract(tmp_path, pdf("Hello from a page"), PDF)


@pytest.mark.parametrize(
    ("content", "file", "reason"),
    [
        (b"text", PDF, "neither a PDF nor a Word document"),
        (docx(paragraphs()), DOCX, "there is no text in it"),
        (docx(b"<broken"), DOCX, "it is damaged (ParseError)"),
        (docx(b"<!DOCTYPE x [<!ENTITY a 'aaaa'>]>" + paragraphs("&a;")), DOCX, "not a document that Word writes"),
        (
            docx(('<!DOCTYPE x [<!ENTITY a "aaaa">]>' + paragraphs("&a;").decode()).encode("utf-16")),
            DOCX,
            "not a document",
        ),
        (docx(paragraphs("x" * 60_000_000)), DOCX, "it is too large"),
        (docx(b"<a>" * 12_000_000), DOCX, "it "),
    ],
)
async def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes, file: Any, reason: str) -> None:
    found = await extract(tmp_path, content, file)
    assert found.startswith("! ")
    assert reason in found


async def test_programs_beside_a_document_are_not_imported(tmp_path: Path) -> None:
    for name in ("zipfile", "resource", "xml", "pypdf"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    assert await extract(tmp_path, docx(paragraphs("a text")), DOCX) == "a text"
    assert not (tmp_path / "ran").exists()


async def test_a_text_has_an_end(tmp_path: Path) -> None:
    found = await extract(tmp_path, docx(paragraphs("x" * 500_000)), DOCX)
    assert found.count("x") == 400_000
    assert found.endswith("[the rest is left out: only 400,000 characters are read]")


async def test_a_parser_that_hangs_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-")
    hanging = [sys.executable, "-c", "import threading; threading.Event().wait()"]
    found = await DocumentTexts(VirtualClock(), hanging).extract(PDF, path)
    assert found == "reading it took longer than 30 s"
    assert not path.with_name("a.pdf.txt").exists()


async def test_the_message_names_the_text_which_the_tools_of_the_person_read(start: Any, tmp_path: Path) -> None:
    content = docx(paragraphs("the secret word is teal"))
    running = await start(channel=SyntheticChannel(attachment_contents={"f": content}))
    await running.channel.deliver_message("look", attachments=(DOCX,))
    said = await running.channel.wait_for_text("You said: look")
    assert "; its text: uploads/synthetic/" in said
    name = said.split("its text: ")[1].split("]")[0]
    [written] = tmp_path.rglob("*.docx.txt")
    assert written.as_posix().endswith(name)
    await running.channel.deliver_message(f"call files.read {name}")
    assert "the secret word is teal" in await running.channel.wait_for_text("secret")
