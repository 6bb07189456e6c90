"""The requirements of the distribution, resolved with what is installed here; nothing is downloaded."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


@cache
def list_distributions() -> Mapping[str, list[str]]:
    """Return the packages of this environment, as one imports them, and the distributions that each is of."""
    return packages_distributions()


@cache
def list_installed(*extras: str) -> frozenset[str]:
    """Return the names of the distributions that pip installs for the project with these extras."""
    found = set[str]()
    left = [*PROJECT["dependencies"], *(text for extra in extras for text in EXTRAS[extra])]
    while left:
        requirement = Requirement(left.pop())
        name = canonicalize_name(requirement.name)
        if name == PROJECT["name"]:
            left += [text for extra in requirement.extras for text in EXTRAS[extra]]
            continue
        if name in found and not requirement.extras:
            continue
        found.add(name)
        left += list_requirements(name, requirement.extras or {""})
    return frozenset(found)


def list_requirements(name: str, extras: Iterable[str]) -> list[str]:
    """Return what an installed distribution requires, with these extras of its own."""
    try:
        further = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return []  # a requirement of another extra than that of the tests
    return [
        str(each).partition(";")[0]
        for each in further
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras)
    ]


def list_missing_packages(*extras: str) -> list[str]:
    """Return the packages of this environment, as one imports them, that an installation with these extras lacks."""
    there = list_installed(*extras) | {PROJECT["name"]}
    return sorted(
        package
        for package, distributions in list_distributions().items()
        if package.isidentifier() and not {canonicalize_name(each) for each in distributions} & there
    )
