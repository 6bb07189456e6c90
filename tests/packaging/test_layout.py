"""The folders are drawers, each with one package in it, and the wheel holds exactly the four packages."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "sophon": ROOT / "sophon",
    "sophon_middlewares": ROOT / "middlewares" / "sophon_middlewares",
    "sophon_hosting": ROOT / "hosting" / "sophon_hosting",
    "sophon_channels": ROOT / "channels" / "sophon_channels",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel that is built here and now, without a network."""
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [built] = target.glob("sophon_agents-*.whl")
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


def sources(package: Path) -> set[str]:
    return {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith((".pyc", ".pyo"))
    }


@pytest.mark.parametrize("drawer", ["middlewares", "hosting", "channels"])
def test_a_drawer_is_no_package_and_holds_one(drawer: str) -> None:
    assert not (ROOT / drawer / "__init__.py").exists()
    assert [path.parent.name for path in (ROOT / drawer).glob("*/__init__.py")] == [f"sophon_{drawer}"]


def test_no_folder_of_tests_is_a_package_but_that_whose_tests_share_a_browser() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == [ROOT / "tests" / "web" / "__init__.py"]


def test_the_wheel_holds_exactly_the_four_packages(wheel: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel if ".dist-info/" not in name} == set(PACKAGES)


def test_nothing_of_a_package_is_left_out_of_the_wheel(wheel: set[str]) -> None:
    assert set().union(*(sources(package) for package in PACKAGES.values())) <= wheel


def test_the_wheel_has_the_web_page(wheel: set[str]) -> None:
    assert "sophon_hosting/web/index.html" in wheel
    assert {Path(name).suffix for name in wheel if name.startswith("sophon_hosting/web/assets/")} == {
        ".css", ".gz", ".js", ".svg"
    }  # fmt: skip


def test_the_wheel_is_typed_and_brings_its_migrations_and_its_licence(wheel: set[str]) -> None:
    assert {f"{package}/py.typed" for package in PACKAGES} <= wheel
    assert any(name.startswith("sophon/stores/sql/migrations/versions/") for name in wheel)
    assert any(name.endswith("licenses/LICENSE") for name in wheel)


def test_every_folder_with_code_in_a_package_is_a_package() -> None:
    bare = {
        path.parent.relative_to(ROOT).as_posix()
        for package in PACKAGES.values()
        for path in package.rglob("*.py")
        if not (path.parent / "__init__.py").exists() and "migrations" not in path.parts
    }
    assert bare == set()
