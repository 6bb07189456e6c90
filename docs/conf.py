"""Sphinx configuration of the documentation site: `make docs` writes it to build/docs."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("", "middlewares", "hosting", "channels")]

from sophon import __version__  # noqa: E402 - the path comes first

project = "Sophon"
version = release = __version__
html_title = f"Sophon {__version__}"
html_theme = "furo"
html_copy_source = False
extensions = ["myst_parser", "sphinx.ext.autodoc"]
suppress_warnings = ["myst.header"]  # a page may skip a level under a table

# Pages are Markdown; anchors of headings are those that GitHub makes, so that links work in both places.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3

# The API reference in docs/reference/ is made from the docstrings; single backticks in them are code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": True}
