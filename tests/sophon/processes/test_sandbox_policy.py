"""Arguments of bubblewrap: what each policy makes visible and writable, as a table."""

from pathlib import Path

import pytest

from sophon.processes.sandbox_policy import (
    SYSTEM_FILES,
    SandboxLimits,
    SandboxPolicy,
    build_arguments,
    find_exposed_files,
)
from tests.tables import table

LIMITS = SandboxLimits(memory_bytes=1000)
FOLDER = Path("/data/ada")


def arguments(**changes: object) -> str:
    return " ".join(build_arguments(SandboxPolicy(FOLDER, LIMITS, **changes), {"/bin": "usr/bin"}))  # type: ignore[arg-type]


@table(
    "part",
    [
        "--unshare-user --unshare-ipc --unshare-pid --unshare-uts",
        "--unshare-net",
        "--die-with-parent --new-session --cap-drop ALL",
        "--ro-bind-try /usr /usr --symlink usr/bin /bin --ro-bind-try /sbin /sbin",
        "--ro-bind-try /etc/ssl/certs /etc/ssl/certs",
        "--size 1000 --tmpfs /tmp",
        "--bind /data/ada /data/ada",
        "--remount-ro /dev --remount-ro / --chdir /data/ada",
    ],
)
def test_a_sandbox_is_closed_by_default(part: str) -> None:
    assert part in arguments()


def test_only_the_working_folder_can_be_written_to() -> None:
    words = build_arguments(SandboxPolicy(FOLDER, LIMITS), {})
    assert [words[at + 1] for at, word in enumerate(words) if word == "--bind"] == ["/data/ada"]


@table(
    ("changes", "part"),
    [
        ({"readable": (Path("/opt/node"),)}, "--ro-bind /opt/node /opt/node"),
        ({"writable": (Path("/srv/out"),)}, "--bind /srv/out /srv/out --bind /data/ada /data/ada"),
        ({"hidden": (FOLDER / "principals",)}, "--tmpfs /data/ada/principals --remount-ro /data/ada/principals"),
    ],
)
def test_what_a_policy_adds(changes: dict[str, object], part: str) -> None:
    assert part in arguments(**changes)
    assert part not in arguments()


def test_the_network_is_shared_only_if_the_policy_says_so() -> None:
    assert "--unshare-net" not in arguments(network=True)


def test_options_of_a_newer_version_are_passed_on() -> None:
    assert "--disable-userns" in build_arguments(SandboxPolicy(FOLDER, LIMITS), {}, ["--disable-userns"])


@table("name", ["shadow", "sudoers", "ssl/private", "ssh", "gshadow", "krb5.keytab"])
def test_no_file_with_secrets_is_among_those_of_the_system(name: str) -> None:
    assert not any(Path(f"/etc/{name}").is_relative_to(each) for each in SYSTEM_FILES)


@pytest.mark.parametrize(
    ("secret", "seen"),
    [
        ("data/ada/appsettings.json", True),
        ("data/ada/deep/er/key", True),
        ("data/sophon.db", False),
        ("data/ada.db", False),
        ("link/key", True),
        ("tools/key", True),
    ],
)
def test_a_file_of_the_host_in_a_mounted_folder_is_found(tmp_path: Path, secret: str, seen: bool) -> None:
    (tmp_path / "data" / "ada").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "data" / "ada")
    mounted = [tmp_path / "data" / "ada", tmp_path / "tools"]
    assert find_exposed_files(mounted, [tmp_path / secret]) == ([tmp_path / secret] if seen else [])
