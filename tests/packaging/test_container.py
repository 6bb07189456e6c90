"""The image: built of what the wheel needs, run by nobody in particular, ended by SIGTERM, and watched without curl.

Docker is not needed here: the file is read. Its health check is run by test_deployment.py.
"""

import json
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from sophon_hosting.programs.allocator_limits import MALLOPT_OPTIONS

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = [
    line.split(None, 1)
    for line in (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    if line and not line.startswith("#")
]
FINAL = INSTRUCTIONS[[index for index, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM"][-1] :]


def last(name: str) -> str:
    """The text of the last instruction of a name in the image's own stage."""
    return [text for instruction, text in FINAL if instruction == name][-1]


def test_the_host_is_the_first_process_and_receives_the_signal_itself() -> None:
    assert [json.loads(last(name)) for name in ("ENTRYPOINT", "CMD")] == [["sophon"], ["serve"]]
    assert last("STOPSIGNAL") == "SIGTERM"


def test_it_runs_without_privileges_and_keeps_its_data_in_a_volume() -> None:
    names = [name for name, _ in FINAL]
    assert last("USER") not in ("root", "0")
    assert names.index("USER") > max(index for index, name in enumerate(names) if name == "RUN")
    assert last("VOLUME") == f"{last('WORKDIR')}/data"


def test_it_has_the_sandbox_of_custom_tools() -> None:
    assert any(name == "RUN" and re.search(r"apt-get install .*\bbubblewrap\b", text) for name, text in FINAL)


def test_its_allocator_has_the_limits_that_the_host_sets_itself() -> None:
    variables = dict(re.findall(r"(MALLOC_\w+)=(\d+)", last("ENV")))
    assert variables == {name: str(value) for name, (_, value) in MALLOPT_OPTIONS.items()}


def test_no_file_names_an_address() -> None:
    for name in ("Dockerfile", ".dockerignore"):
        assert "://" not in (ROOT / name).read_text()


def is_in_the_context(path: str, rules: list[str]) -> bool:
    """Whether a path reaches the build: the last rule that matches it, or a folder above it, decides."""
    found = True
    for rule in rules:
        pattern = rule.removeprefix("!")
        parents = ["/".join(path.split("/")[: depth + 1]) for depth in range(path.count("/") + 1)]
        names = [*parents, *path.split("/")] if pattern.startswith("**/") else parents
        if any(fnmatch(name, pattern.removeprefix("**/")) for name in names):
            found = rule.startswith("!")
    return found


def read_rules() -> list[str]:
    return [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]


def test_only_what_the_wheel_is_built_of_reaches_the_build() -> None:
    for path, included in {
        "pyproject.toml": True,
        "constraints.txt": True,
        "sophon/services.py": True,
        "hosting/web/package-lock.json": True,
        "hosting/web/src/main.ts": True,
        "data/sophon.db": False,
        "appsettings.json": False,
        ".env": False,
        ".git/config": False,
        "hosting/web/node_modules/x/index.js": False,
        "hosting/sophon_hosting/web/index.html": False,
        "sophon/__pycache__/services.pyc": False,
        "tests/conftest.py": False,
    }.items():
        assert is_in_the_context(path, read_rules()) == included, path


def test_every_file_of_the_wheel_is_in_the_context() -> None:
    rules = read_rules()
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("needs the checkout")
    done = subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    sources = [
        path
        for path in done.stdout.splitlines()
        if path.startswith(("sophon/", "middlewares/", "hosting/", "channels/"))
    ]
    assert [path for path in sources if not is_in_the_context(path, rules)] == []
