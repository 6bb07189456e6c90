"""Program that writes the text of a PDF or Word document into a file: `python -m ... DOCUMENT TARGET`.

A process of its own with limits, because parsers of hostile files hang and grow. It prints why there is no text.
"""

import sys
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

from sophon.errors import InputError
from sophon.extras import install_command
from sophon_hosting.parsing.parser_worker import run_parser

MAX_CHARACTERS = 400_000
"""Characters of a text that are kept."""
MAX_PAGES = 1_000
MAX_XML_BYTES = 50_000_000
"""Size of the XML of a Word document, unpacked."""
CPU_SECONDS = 20
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class NoText(InputError):
    """The document has no text that can be read; the message says why, for the person who sent it."""


def read_document(path: Path) -> str:
    """Return the text of a document. Raises NoText."""
    with path.open("rb") as file:
        head = file.read(1024)
    if b"%PDF-" in head:
        parts = read_pdf(path)
    elif zipfile.is_zipfile(path):
        parts = read_word(path)
    else:
        raise NoText("it is neither a PDF nor a Word document")
    text = "".join(islice(_bounded(parts), None)).strip()
    if not text:
        raise NoText("there is no text in it; it may be scanned")
    return text


def read_pdf(path: Path) -> Iterator[str]:
    """Yield the text of each page. Raises NoText."""
    try:
        from pypdf import PdfReader  # an optional extra
    except ImportError:
        raise NoText(f"pypdf is not installed: {install_command('documents')}") from None
    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        raise NoText("it is encrypted")
    for page in islice(reader.pages, MAX_PAGES):
        yield f"{page.extract_text()}\n\n"


def read_word(path: Path) -> Iterator[str]:
    """Yield the text of each paragraph. Raises NoText."""
    with zipfile.ZipFile(path) as archive:
        if "word/document.xml" not in archive.namelist():
            raise NoText("it is neither a PDF nor a Word document")
        with archive.open("word/document.xml") as packed:
            content = packed.read(MAX_XML_BYTES + 1)
    # Word writes UTF-8, which has no null bytes; in UTF-16 the search would miss a DTD.
    if len(content) > MAX_XML_BYTES or b"<!DOCTYPE" in content or b"\0" in content:
        raise NoText("it is too large, or not a document that Word writes")
    root = ElementTree.fromstring(content)  # noqa: S314 - no DTD, in a process with limits of memory and time
    for paragraph in root.iter(f"{WORD}p"):
        yield "".join(_run_text(each) for each in paragraph.iter()) + "\n"


def _run_text(element: ElementTree.Element) -> str:
    if element.tag == f"{WORD}t":
        return element.text or ""
    return {f"{WORD}tab": "\t", f"{WORD}br": "\n"}.get(element.tag, "")


def _bounded(parts: Iterator[str]) -> Iterator[str]:
    left = MAX_CHARACTERS
    for part in parts:
        yield part[:left]
        left -= len(part)
        if left <= 0:
            yield f"\n[the rest is left out: only {MAX_CHARACTERS:,} characters are read]"
            return


def write_text(path: Path, target: Path) -> None:
    """Write the text of a document into a file. Raises NoText."""
    target.write_text(read_document(path), encoding="utf-8", errors="replace")


if __name__ == "__main__":
    sys.exit(run_parser(write_text, cpu_seconds=CPU_SECONDS, result_bytes=4 * MAX_CHARACTERS + 4096))
