"""Dangerous settings of tools: files and networks that they reach."""

import ipaddress
from collections.abc import Iterator, Mapping
from pathlib import Path

from sophon.settings import Settings
from sophon.settings.host_files import find_database_file
from sophon_hosting.dangerous_settings.allowed_networks import describe_reached
from sophon_hosting.dangerous_settings.catalog import DangerousSetting

SENSITIVE_FOLDERS = ("/boot", "/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/usr", "/var")
"""Folders of the system: a files folder equal to one of them, or around one, is dangerous."""

SENSITIVE_TREES = ("/boot", "/dev", "/etc", "/proc", "/sys")
"""Those of them in which every folder is of the system: a files folder inside is dangerous too."""

HOME_FOLDERS = ("/home", "/Users")
"""Folders whose entries are home directories."""

SENSITIVE_HOME_FOLDERS = (".aws", ".config", ".docker", ".gnupg", ".kube", ".ssh")
"""Folders of the home directory with credentials."""


def find_in_files_root(
    settings: Settings, folder: Path, home: Path | None, environment: Mapping[str, str]
) -> Iterator[DangerousSetting]:
    """Yield `Tools.FilesRoot` if it exposes something."""
    root = (folder / settings.tools.files_root).resolve()
    exposed = _find_exposed(root, folder.resolve(), home, find_database_file(settings, folder, environment))
    if exposed:
        yield DangerousSetting(
            "files_root_exposed",
            f"Tools.FilesRoot {settings.tools.files_root}",
            f"a model reads, and once approved overwrites, {exposed}",
            "choose a folder of its own, such as data/files",
        )


def _find_exposed(root: Path, folder: Path, home: Path | None, database: Path | None) -> str:
    """Return what a files folder exposes, "" if nothing."""
    if root == Path(root.anchor):
        return "every file of this machine that the host's account may access"
    if home is not None and home.resolve().is_relative_to(root):
        return "the home directory of the host's account, with its keys and passwords"
    if database is not None and database.is_relative_to(root):
        return "the host's database, with the conversations of all users"
    if folder.is_relative_to(root):
        return "the host's settings, which decide who has access and what is asked"
    sensitive = [Path(each) for each in SENSITIVE_FOLDERS]
    if home is not None:
        sensitive += [home.resolve() / each for each in SENSITIVE_HOME_FOLDERS]
    trees = [Path(each) for each in SENSITIVE_TREES] + sensitive[len(SENSITIVE_FOLDERS) :]
    if any(each.is_relative_to(root) for each in sensitive) or any(root.is_relative_to(each) for each in trees):
        return f"the folder {root}, with files of the system or with credentials"
    if root.parent in map(Path, HOME_FOLDERS):
        return f"the home directory {root}, with its keys and passwords"
    if any(part in SENSITIVE_HOME_FOLDERS for part in root.parts):
        return f"the folder {root}, with credentials"
    return ""


def find_in_networks(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous ones of `Tools.AllowCidrs`."""
    for text in settings.tools.allow_cidrs:
        reached = describe_reached(ipaddress.ip_network(text, strict=False))
        if reached:
            yield DangerousSetting(
                "internal_network",
                f"Tools.AllowCidrs {text}",
                f"http.request reaches {reached}",
                "name the one address that is needed, such as 10.0.0.5/32",
            )
