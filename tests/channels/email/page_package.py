"""The package of docs/own-channel.md, taken from the page."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "own-channel.md"
_FILE = re.compile(r"^```(?:py|toml)\n# (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ENTRY_POINTS = re.compile(r'^\[project\.entry-points\."(.+?)"\]\n(\w+) = "(.+?)"', re.MULTILINE)


def install_page_package(folder: Path) -> None:
    """Write the files of the page into a folder on the path, with the metadata that `pip install` makes of them."""
    files = dict(_FILE.findall(PAGE.read_text()))
    for name, source in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
    (folder / "sophon_email" / "__init__.py").touch()
    metadata = folder / "sophon_email-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sophon-email\nVersion: 1.0\n")
    found = _ENTRY_POINTS.search(files["pyproject.toml"])
    assert found is not None
    (metadata / "entry_points.txt").write_text("[{}]\n{} = {}\n".format(*found.groups()))
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


@pytest.fixture(scope="session")
def email_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module `sophon_email.parsing`."""
    folder = tmp_path_factory.mktemp("email-package")
    install_page_package(folder)
    import sophon_email.parsing  # type: ignore[import-not-found]

    yield sophon_email.parsing
    sys.path.remove(str(folder))
