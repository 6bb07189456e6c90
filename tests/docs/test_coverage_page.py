"""docs/coverage.md names existing tests for each statement and each feature, and says truly what needs a setting."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sophon import Services
from sophon.chain.order_constraints import get_middleware_name
from sophon_hosting.host_chain import build_named_chain
from sophon_middlewares.chains import CHAINS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
FEATURES = 229
MAX_DECLINED = 12
DECLINED = "declined:"
NOT_YET = "not yet:"
CHAIN_OF_SECTION = {
    "ClawDesk (000)": "clawdesk",
    "OpenParallax (001)": "openparallax",
    "clawft (002)": "clawft",
    "WASP (003)": "wasp",
    "Sophon (004)": "twelve",
}
NEEDED = re.compile(r"with `([A-Z][\w.*]*)`(?: `([^`]+)`)?")
"""What a row says it needs: a setting that is off by default, or another value than the default."""
OFF = {"null", "false", "[]", "{}", '""', "0", "0.0"}


def list_rows() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the section and the heading above each row of a table, and its cells."""
    section = heading = ""
    for line in PAGE.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
            section = heading if line.startswith("## ") else section
        elif line.startswith("|") and not line.startswith(("|---", "| statement", "| # ")):
            yield section, heading, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


ROWS = list(list_rows())
FEATURE_ROWS = [cells for section, _, cells in ROWS if section == "Features"]
STATEMENT_ROWS = [(section, cells) for section, _, cells in ROWS if section in CHAIN_OF_SECTION]


@cache
def list_tests(path: str) -> frozenset[str]:
    """Return the names of the test functions that pytest collects from a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(each.name for each in functions if each.name.startswith("test_"))


@cache
def read_settings() -> dict[str, tuple[str, str]]:
    """Return the values and the default of each setting, as docs/settings.md has them; another test keeps that so."""
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.*\[\]]+)` \| ([^|]*) \| ([^|]*) \|", page, re.M)
    return {name: (values, default.strip(" `")) for name, values, default in rows}


@cache
def name_middlewares(chain: str, folder: Path) -> frozenset[str]:
    """Return the names of what stands in a chain of a host with no further setting, and with one skill."""
    skill = folder / "data" / "skills" / "tea"
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text("---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n", encoding="utf-8")
    services = Services.from_settings(folder=folder, environment={})
    return frozenset(map(get_middleware_name, build_named_chain(services, chain)))


def test_every_feature_has_one_row() -> None:
    assert sorted(int(cells[0]) for cells in FEATURE_ROWS) == list(range(1, FEATURES + 1))


def test_every_row_names_tests_that_are_collected_or_why_it_is_declined() -> None:
    for section, heading, cells in ROWS:
        row = f"{section}, {heading}: {cells}"
        if cells[-1].startswith((DECLINED, NOT_YET)):
            assert len(cells[-1]) > len(DECLINED) + 20, f"a reason is a sentence: {row}"
            continue
        named = re.findall(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`", cells[-1])
        assert named, row
        assert re.sub(r"`tests/[\w/.]+\.py(::\w+)?`", "", cells[-1]).strip() == "", f"a test and nothing else: {row}"
        for path, test in named:
            assert (ROOT / path).is_file(), path
            assert not test or test in list_tests(path), f"{path}::{test}"


def test_each_of_the_21_planned_items_of_clawft_has_a_row() -> None:
    planned = [cells for _, heading, cells in ROWS if heading == "10. Phase 3 TODO"]
    assert len(planned) == 21
    assert sum(cells[-1].startswith(NOT_YET) for cells in planned) == 6


def test_few_features_are_declined() -> None:
    assert sum(cells[-1].startswith(DECLINED) for _, _, cells in ROWS) <= MAX_DECLINED


def test_a_feature_is_there_by_default_or_the_row_says_what_it_needs() -> None:
    for number, _, by_default, *_, shown in FEATURE_ROWS:
        assert (by_default == "no") is shown.startswith(DECLINED), number
        if in_chain := re.fullmatch(r"in `(\w+)`", by_default):
            assert in_chain[1] in CHAINS, number
            assert in_chain[1] != "twelve", f"what stands in the default chain is there by default: {number}"
        else:
            assert by_default in ("yes", "no") or NEEDED.fullmatch(by_default), f"{number}: {by_default}"


NEEDS = sorted({found for _, _, cells in ROWS for cell in cells[1:-1] for found in NEEDED.findall(cell)})


def test_what_a_row_needs_is_not_the_default() -> None:
    for name, value in NEEDS:
        assert name in read_settings(), f"no such setting: {name}"
        values, default = read_settings()[name]
        if value:
            assert value != default.strip('"'), f"{name} is {value} by default"
            assert f"`{value}`" in values or "`" not in values, f"{name} is one of {values}"
        else:
            assert default in OFF, f"{name} is {default} by default"


def test_every_setting_on_the_page_exists() -> None:
    named = set(re.findall(r"`([A-Z]\w+(?:\[\])?(?:\.[A-Z*][\w*]*)+)`", PAGE))
    assert {name for name in named if name not in read_settings()} == set()


def test_a_middleware_that_a_row_names_stands_in_the_chain_of_its_section(tmp_path: Path) -> None:
    every = set[str]().union(*(name_middlewares(chain, tmp_path) for chain in CHAINS))
    absent = {
        (section, cells[0], name)
        for section, cells in STATEMENT_ROWS
        for name in re.findall(r"`(\w+)`", NEEDED.sub("", cells[1]))
        if name in every and name not in name_middlewares(CHAIN_OF_SECTION[section], tmp_path)
    }
    assert absent == set()
