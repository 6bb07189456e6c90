"""What is pure in the page has its tests beside it, in TypeScript: here they run."""

import subprocess
import sys
from pathlib import Path

from tests.web.driving import missing

WEB = Path(__file__).parents[2] / "hosting" / "web"


def test_the_modules_of_the_page_pass_their_tests() -> None:
    if not (WEB / "node_modules").is_dir():
        missing("needs make page before: the tests of the page's modules")
    npm = [sys.executable, str(WEB / "npm.py")]
    done = subprocess.run([*npm, "test", "--silent"], cwd=WEB, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_lock_file_names_no_address() -> None:
    assert "resolved" not in (WEB / "package-lock.json").read_text()
    assert "://" not in (WEB / "package.json").read_text()
