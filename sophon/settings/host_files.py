"""Files of the host itself: settings, database and secrets, which no tool and no command may see."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sophon.principals import files_folder
from sophon.settings.root import Settings
from sophon.settings.saved_settings import KEY_FILES, SAVED_FILE
from sophon.settings.settings_secrets import find_secrets

SETTINGS_PATTERNS = ("appsettings*.json", ".env")
"""Names of settings files in the folder of the host."""

DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Ends of the names of the files that SQLite makes of one database."""


def find_host_files(settings: Settings, folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the host's own files, existing or not: settings in `folder`, the database, and files with secrets."""
    return [
        *(path for pattern in SETTINGS_PATTERNS for path in sorted(folder.glob(pattern))),
        folder / SAVED_FILE,
        *sorted((folder / SAVED_FILE).parent.glob(KEY_FILES)),
        *_find_database_files(settings, folder, environment),
        *(secret.file for secret in find_secrets(settings) if secret.file is not None),
    ]


def _find_database_files(settings: Settings, folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    database = find_database_file(settings, folder, environment)
    if database is not None:
        yield from (database.with_name(database.name + suffix) for suffix in DATABASE_SUFFIXES)


def find_database_file(settings: Settings, folder: Path, environment: Mapping[str, str]) -> Path | None:
    """Return the file of a SQLite store; None for another store."""
    url = settings.store.url.resolve(environment) or ""
    scheme, _, path = url.partition(":///")
    return (folder / path.partition("?")[0]).resolve() if scheme.startswith("sqlite") and path else None


def find_protected_roots(
    settings: Settings, folder: Path, principal: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the absolute folders in which names are protected (`sophon.security.protection`), the files folder of the
    principal first: that of the host, of the workspace files, and those that the database and the skills are in.
    """
    folder, own = folder.absolute(), files_folder(principal)
    roots = [folder / settings.tools.files_root / own, folder]
    if settings.memory.directory is not None:
        memory = folder / settings.memory.directory.expanduser()
        roots += [memory, memory / own]
    database = find_database_file(settings, folder, environment)
    if database is not None:
        roots.append(database.parent)
    roots += [(folder / each.expanduser()).parent for each in settings.skills.directories]
    return tuple(dict.fromkeys(map(str, roots)))
