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
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.apidoc", "sphinx.ext.viewcode"]
exclude_patterns = ["README.md"]
nitpicky = False
suppress_warnings = ["myst.header"]  # a page may skip a level under a table

# Pages are Markdown; anchors of headings are those that GitHub makes, so that links work in both places.
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3

# The API reference: one page for each module, written below docs/reference/ while the site is built.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": True}
autodoc_mock_imports: list[str] = []
_APIDOC = {"separate_modules": True, "module_first": True, "follow_links": False}
apidoc_modules = [
    {"path": str(ROOT / folder / package), "destination": f"reference/{package}", **_APIDOC}
    for folder, package in (
        ("", "sophon"),
        ("middlewares", "sophon_middlewares"),
        ("hosting", "sophon_hosting"),
        ("channels", "sophon_channels"),
    )
]
for each in apidoc_modules:
    each["exclude_patterns"] = ["**/migrations/**", "**/__main__.py"]
