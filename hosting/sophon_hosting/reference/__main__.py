"""`python -m sophon_hosting.reference` in a clone: write what is generated anew."""

import sys
from pathlib import Path

from sophon_hosting.reference.pages import TABLES, render_page


def main(folder: Path = Path("docs")) -> None:
    """Write the generated tables of the pages in a folder; print the names of those that have changed."""
    for name in TABLES:
        path = folder / name
        page = path.read_text(encoding="utf-8")
        rendered = render_page(name, page)
        if rendered != page:
            path.write_text(rendered, encoding="utf-8")
            sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
