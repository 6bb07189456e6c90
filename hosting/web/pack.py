"""Has the web page in every wheel and source distribution: hatchling calls this before it packs."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path("hosting/web")
BUILT = Path("hosting/sophon_hosting/web/index.html")
UNTOUCHED = ("node_modules", "out")


class PackThePage(BuildHookInterface[Any]):
    """Makes the page where it is missing or older than its source; an editable install leaves that to `make page`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling."""
        web, built = Path(self.root) / HERE, Path(self.root) / BUILT
        if version == "editable" or is_fresh(web, built):
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning("Without npm this package has no web page; install Node.js 20 or newer.")
            return
        for command in (["ci", "--silent"], ["run", "--silent", "build"]):
            subprocess.run([npm, *command], cwd=web, check=True)  # noqa: S603 - our own words


def is_fresh(web: Path, built: Path) -> bool:
    """Whether the page that is there was made of the source that is there."""
    if not web.is_dir():
        return True
    if not built.is_file():
        return False
    sources = (each for each in web.rglob("*") if each.is_file() and not set(UNTOUCHED) & set(each.parts))
    return max(each.stat().st_mtime for each in sources) <= built.stat().st_mtime
