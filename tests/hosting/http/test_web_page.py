"""The files of the web page, as they are served."""

import gzip
import shutil
from pathlib import Path

import pytest

SCRIPT = b"export const answer = 42;" * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page as the build leaves it."""
    (tmp_path / "assets").mkdir()
    for name, content in {"index.html": b"<!doctype html><title>x</title>", "assets/page-1.js": SCRIPT}.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
    return tmp_path


async def test_the_page_is_asked_for_anew_and_its_files_are_kept_for_good(serve, folder: Path) -> None:
    client = await (await serve(web_folder=folder)).open(None)
    page, script = await client.get("/"), await client.get("/assets/page-1.js")
    assert page.headers["Cache-Control"] == "no-cache"
    assert (page.headers["Content-Type"], script.headers["Content-Type"]) == ("text/html", "text/javascript")
    assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert (await client.get("/", headers={"If-None-Match": page.headers["ETag"]})).status_code == 304


async def test_files_come_compressed_to_who_takes_that(serve, folder: Path) -> None:
    client = await (await serve(web_folder=folder)).open(None)
    packed = await client.get("/assets/page-1.js", headers={"Accept-Encoding": "gzip"})
    plain = await client.get("/assets/page-1.js", headers={"Accept-Encoding": "identity"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < len(SCRIPT)
    assert packed.content == plain.content == SCRIPT
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    head = await client.head("/assets/page-1.js", headers={"Accept-Encoding": "identity"})
    assert (head.content, head.headers["Content-Length"]) == (b"", str(len(SCRIPT)))


async def test_the_files_are_read_once_at_the_start_so_no_download_holds_one(serve, folder: Path) -> None:
    client = await (await serve(web_folder=folder)).open(None)
    shutil.rmtree(folder)
    assert (await client.get("/assets/page-1.js")).content == SCRIPT
    assert (await client.get("/")).content == b"<!doctype html><title>x</title>"


async def test_every_file_has_the_policy_and_the_headers_of_all_answers(serve, folder: Path) -> None:
    client = await (await serve(web_folder=folder)).open(None)
    for path in ("/", "/assets/page-1.js"):
        headers = (await client.get(path)).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")


@pytest.mark.parametrize(
    "path", ["/assets/", "/assets", "/assets/other.js", "/assets/../index.html", "/assets/page-1.js.gz", "/index.html"]
)
async def test_nothing_else_is_served(serve, folder: Path, path: str) -> None:
    client = await (await serve(web_folder=folder)).open(None)
    assert (await client.get(path)).status_code == 404
