"""What is pure in the page has its tests beside it, in TypeScript: here they run."""

import shutil
import subprocess
from pathlib import Path

from tests.web.driving import missing

WEB = Path(__file__).parents[2] / "hosting" / "web"


def test_the_modules_of_the_page_pass_their_tests() -> None:
    npm = shutil.which("npm")
    if npm is None or not (WEB / "node_modules").is_dir():
        missing("needs npm, and make page before: the tests of the page's modules")
    done = subprocess.run([str(npm), "test", "--silent"], cwd=WEB, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_lock_file_names_no_address() -> None:
    assert "resolved" not in (WEB / "package-lock.json").read_text()
    assert "://" not in (WEB / "package.json").read_text()
