"""The catalogue: skills are found, read anew when a file changes, switched, installed whole or not at all."""

import os
from pathlib import Path

import pytest

from sophon.errors import InputError, NotFound
from sophon.skills.catalog import STATE_FILE, SkillCatalog, list_with_requirements


def write_skill(folder: Path, name: str, requires: str = "", body: str = "Do it.") -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    header = f"name: {name}\ndescription: About {name}.\nrequires: [{requires}]"
    (folder / name / "SKILL.md").write_text(f"---\n{header}\n---\n{body}")
    return folder / name


@pytest.fixture
def catalog(tmp_path: Path) -> SkillCatalog:
    return SkillCatalog([tmp_path / "own", tmp_path / "shared"])


def test_nothing_is_read_twice_until_a_file_changes(catalog: SkillCatalog) -> None:
    assert dict(catalog.read().skills) == {}
    path = write_skill(catalog.folders[0], "pdf") / "SKILL.md"
    first = catalog.read()
    assert [*first.skills] == ["pdf"]
    assert catalog.read() is first
    path.write_text(path.read_text() + " More.")
    os.utime(path, ns=(1, 1))
    assert catalog.read().skills["pdf"].instructions.endswith("More.")
    path.unlink()
    assert [each.message for each in catalog.read().problems] == ["it has neither SKILL.md nor a manifest"]


def test_one_bad_skill_does_not_hide_the_others(catalog: SkillCatalog) -> None:
    write_skill(catalog.folders[1], "good")
    bad = write_skill(catalog.folders[0], "bad") / "SKILL.md"
    bad.write_text("nothing")
    read = catalog.read()
    assert [*read.skills] == ["good"]
    assert [(each.path, each.line) for each in read.problems] == [(bad, 1)]


def test_the_first_folder_wins(catalog: SkillCatalog) -> None:
    write_skill(catalog.folders[0], "pdf", body="mine")
    write_skill(catalog.folders[1], "pdf", body="theirs")
    read = catalog.read()
    assert read.skills["pdf"].instructions == "mine"
    assert "same name" in read.problems[0].message


def test_requirements_that_cannot_be_met_are_named(catalog: SkillCatalog) -> None:
    folder = catalog.folders[0]
    for name, requires in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "gone"), ("e", "d"), ("f", "g"), ("g", "")):
        write_skill(folder, name, requires)
    read = catalog.read()
    assert [*read.skills] == ["f", "g"]
    assert {each.path.name: each.message for each in read.problems} == {
        "a": "what it requires is a circle: a -> b -> c -> a",
        "b": "what it requires is a circle: b -> c -> a -> b",
        "c": "what it requires is a circle: c -> a -> b -> c",
        "d": "it requires 'gone', which is not installed",
        "e": "it requires 'd', which cannot be used",
    }
    assert list_with_requirements("f", read.skills) == ["g", "f"]


def test_a_long_chain_of_requirements_is_followed(catalog: SkillCatalog) -> None:
    names = [f"s{number:03}" for number in range(400)]
    for name, required in zip(names, [*names[1:], ""], strict=True):
        write_skill(catalog.folders[0], name, required)
    assert list_with_requirements("s000", catalog.read().skills) == names[::-1]


def test_a_switch_holds_in_the_next_process(catalog: SkillCatalog) -> None:
    write_skill(catalog.folders[0], "pdf")
    catalog.set_enabled("pdf", False)
    assert dict(SkillCatalog(catalog.folders).read().enabled) == {}
    catalog.set_enabled("pdf", True)
    assert [*catalog.read().enabled] == ["pdf"]
    with pytest.raises(NotFound, match="pdf"):
        catalog.set_enabled("pdg", True)
    (catalog.folders[0] / STATE_FILE).write_text("{")
    assert "no skill is switched off" in catalog.read().problems[0].message


def test_a_skill_is_installed_whole_or_not_at_all(catalog: SkillCatalog, tmp_path: Path) -> None:
    source = write_skill(tmp_path / "downloads", "pdf")
    (source / "ref").mkdir()
    (source / "ref" / "a.md").write_text("hello")
    assert catalog.install(source).folder == catalog.folders[0] / "pdf"
    with pytest.raises(InputError, match="--replace"):
        catalog.install(source)
    (source / "SKILL.md").write_text("nothing")
    with pytest.raises(InputError, match=r"SKILL\.md:1: "):
        catalog.install(source, replace=True)
    write_skill(tmp_path / "downloads", "pdf", body="new")
    (source / "link").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="is a link"):
        catalog.install(source, replace=True)
    assert catalog.read().skills["pdf"].instructions == "Do it."
    (source / "link").unlink()
    assert catalog.install(source, replace=True).instructions == "new"
    assert sorted(each.name for each in catalog.folders[0].iterdir()) == ["pdf"]
