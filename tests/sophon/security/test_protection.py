"""Protection of named files: the published levels, and every way of naming a file that the name does not show."""

import os
from pathlib import Path

import pytest

from sophon.security.protection import protection_level
from tests.tables import table


@pytest.mark.parametrize(
    ("name", "read", "write", "delete"),
    [
        ("SOUL.md", "none", "read_only", "read_only"),
        ("identity.md", "none", "read_only", "read_only"),
        ("AGENTS.md", "none", "tier2", "blocked"),
        ("heartbeat.md", "none", "tier2", "blocked"),
        ("USER.md", "none", "tier1", "tier1"),
        ("memory.md", "none", "tier1", "tier1"),
        ("config.yaml", "blocked", "blocked", "blocked"),
        ("canary.token", "blocked", "blocked", "blocked"),
        ("audit.jsonl", "blocked", "blocked", "blocked"),
        ("appsettings.json", "blocked", "blocked", "blocked"),
        ("sub/.openparallax/x", "blocked", "blocked", "blocked"),
        (".sophon", "blocked", "blocked", "blocked"),
        ("security/policy.yaml", "blocked", "blocked", "blocked"),
        ("skills/mail/SKILL.md", "none", "read_only", "read_only"),
        ("project/config.yaml", "none", "none", "none"),
        ("project/soul.md", "none", "none", "none"),
        ("readme.md", "none", "none", "none"),
        ("", "none", "none", "none"),
    ],
)
def test_the_levels(tmp_path: Path, name: str, read: str, write: str, delete: str) -> None:
    path = os.path.join(tmp_path, name)  # noqa: PTH118 - as a tool's arguments give it
    assert [protection_level(path, each, str(tmp_path)) for each in ("read", "write", "delete")] == [
        read,
        write,
        delete,
    ]


@table("path", ["soul.md", "", "./x", "~/x", "/ws/a\0b"])
def test_a_path_that_is_not_absolute_is_blocked(path: str) -> None:
    assert protection_level(path, "read", "/ws") == "blocked"


def test_an_unknown_operation_counts_as_a_write(tmp_path: Path) -> None:
    assert protection_level(str(tmp_path / "soul.md"), "chmod", str(tmp_path)) == "read_only"


def test_a_path_outside_the_root_is_not_about_these_names(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    assert protection_level(str(tmp_path / "soul.md"), "write", str(root)) == "none"
    assert protection_level(str(tmp_path / "ws-2" / "soul.md"), "write", str(root)) == "none"


def test_dots_in_a_path_hide_nothing(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert protection_level(f"{tmp_path}/sub/.././/SOUL.md", "write", str(tmp_path)) == "read_only"
    assert protection_level(f"{tmp_path}/sub/../security/../security/x", "read", str(tmp_path)) == "blocked"


def test_a_symbolic_link_hides_nothing(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "skills").mkdir(parents=True)
    (root / "soul.md").write_text("x")
    (root / "plain.md").symlink_to(root / "soul.md")
    (tmp_path / "alias").symlink_to(root)
    (root / "tools").symlink_to(root / "skills")
    assert protection_level(str(root / "plain.md"), "write", str(root)) == "read_only"
    assert protection_level(str(tmp_path / "alias" / "soul.md"), "write", str(root)) == "read_only"
    assert protection_level(str(root / "soul.md"), "write", str(tmp_path / "alias")) == "read_only"
    assert protection_level(str(root / "tools" / "new.md"), "write", str(root)) == "read_only"
    # `..` behind a link is the parent of what the link points to.
    (root / "out").symlink_to(root / "skills")
    assert protection_level(f"{root}/out/../soul.md", "write", str(root)) == "read_only"


def test_a_protected_name_that_is_a_link_stays_protected_by_every_name(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "ws", tmp_path / "elsewhere"
    root.mkdir()
    (elsewhere / "mail").mkdir(parents=True)
    (elsewhere / "soul").write_text("x")
    (root / "SOUL.md").symlink_to(elsewhere / "soul")
    (root / "skills").symlink_to(elsewhere / "mail")
    (tmp_path / "alias").symlink_to(root)
    for path in (root / "SOUL.md", elsewhere / "soul", tmp_path / "alias" / "SOUL.md"):
        assert protection_level(str(path), "write", str(root)) == "read_only", path
    for path in (root / "skills" / "a", elsewhere / "mail" / "a", tmp_path / "alias" / "skills" / "a"):
        assert protection_level(str(path), "write", str(root)) == "read_only", path


def test_a_hard_link_hides_nothing(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "appsettings.json").write_text("{}")
    os.link(root / "appsettings.json", root / "notes.txt")
    os.link(root / "appsettings.json", tmp_path / "outside.txt")
    assert protection_level(str(root / "notes.txt"), "read", str(root)) == "blocked"
    assert protection_level(str(tmp_path / "outside.txt"), "read", str(root)) == "blocked"


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert protection_level(str(tmp_path / "a"), "write", str(tmp_path)) == "none"
