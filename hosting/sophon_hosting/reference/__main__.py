"""`python -m sophon_hosting.reference` in a clone: write what is generated anew."""

import sys
from pathlib import Path

from sophon.models.catalog import OWN_TABLE
from sophon_hosting.http.openapi_route import DOCUMENT
from sophon_hosting.reference.model_table import render_model_table
from sophon_hosting.reference.openapi import render_document
from sophon_hosting.reference.pages import TABLES, render_page
from sophon_hosting.reference.typescript import render_files


def main(folder: Path = Path("docs")) -> None:
    """Write the OpenAPI document, the TypeScript of the page, the tables of a folder and that of the models; print what
    has changed.
    """
    _write(DOCUMENT, render_document())
    for path, content in render_files().items():
        _write(path, content)
    _write(OWN_TABLE, render_model_table())
    for name in TABLES:
        path = folder / name
        _write(path, render_page(name, path.read_text(encoding="utf-8")))


def _write(path: Path, content: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != content:
        path.write_text(content, encoding="utf-8")
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
