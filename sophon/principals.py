"""Principals: the ids of those on whose behalf a turn runs; one namespace per kind, and no two kinds overlap.

| principal | who |
|---|---|
| `""` | nobody in particular: an embedded chain that names nobody |
| `local` | the person at this machine: the terminal, and every client of a host without `Hub.Users` |
| `ada` | a hub user whose id is a plain name |
| `user:telegram:5` | a hub user whose id is reserved or has a colon |
| `telegram:5` | a person on a channel |
| `telegram:chat:-100` | a group of a channel: owner of the group's sessions, memory and files |
| `group:SESSION` | the group of an embedded turn that names no other owner of its data |

Plain names of hub users are their own principals, so that what they stored before there were namespaces stays theirs.
Every id is built here and nowhere else.
"""

import hashlib
from pathlib import PurePosixPath
from urllib.parse import quote

LOCAL_USER = "local"
"""The only user of a host without `Hub.Users`, and the user of the terminal chat."""

STORE_OPERATOR = "local:store"
"""Author of decisions that `sophon approvals` writes to the store while no host runs."""

USER_PREFIX, GROUP_PREFIX, CHAT_PART = "user:", "group:", "chat:"

MAIN_AGENT = "main"
"""Name of the agent of a turn that no other one runs."""

ROLE = "role"
"""Beginning of a role in the rules of an access control list, and therefore no name of a channel."""

RESERVED_NAMES = frozenset({LOCAL_USER, "user", "group", "system", "expiry", "terminal"})
"""Names that are no hub user's principal and no channel: `user` is the memory scope of an embedded chain, `system` the
host itself, `expiry` and `terminal` the authors of decisions by timeout and in the terminal chat."""

ANONYMOUS_SCOPE = "user"
"""Memory scope of an embedded chain that names nobody."""

PRINCIPALS_FOLDER = "principals"
"""Folder below `Tools.FilesRoot` that has one folder per principal; the local user has the root itself without it."""

MAX_FOLDER_CHARACTERS = 120
"""Maximum length of a folder name; a longer one ends with a digest."""

_PLAIN_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-")


def hub_user_principal(user_id: str) -> str:
    """Return the principal of a user in `Hub.Users`: the id, or `user:` and the id if it could be somebody else's."""
    return f"{USER_PREFIX}{user_id}" if ":" in user_id or user_id in RESERVED_NAMES else user_id


def channel_person_principal(channel: str, person_id: str) -> str:
    """Return the principal of a person on a channel, such as `telegram:5`."""
    return f"{channel}:{_escape(person_id)}"


def channel_chat_principal(channel: str, chat_id: str) -> str:
    """Return the principal of a group of a channel, such as `telegram:chat:-100`."""
    return f"{channel}:{CHAT_PART}{_escape(chat_id)}"


def is_channel_principal(principal: str, channel: str) -> bool:
    """Return whether the principal is a person or a group of the channel."""
    return principal.startswith(f"{channel}:")


def is_channel_name(name: str) -> bool:
    """Return whether a channel may have this name: not empty, no colon, not reserved."""
    return bool(name) and ":" not in name and name not in RESERVED_NAMES and name != ROLE


def data_owner_of_turn(principal: str, session_id: str, *, group: bool) -> str:
    """Return whose memory and files a turn uses: its principal's, and in a group never those of who wrote."""
    return f"{GROUP_PREFIX}{session_id}" if group else principal


def memory_scope(data_owner: str) -> str:
    """Return the scope of a data owner's long-term memory."""
    return data_owner or ANONYMOUS_SCOPE


def owns_files_root(principal: str) -> bool:
    """Return whether the principal's files are in `Tools.FilesRoot` itself."""
    return principal in ("", LOCAL_USER)


def files_folder(principal: str) -> PurePosixPath:
    """Return the folder of a principal's files, relative to `Tools.FilesRoot`.

    The local user, and an embedded chain that names nobody, have the root itself. The name of every other folder is an
    injective escape of the principal, also on a file system that ignores case: `telegram:5` has `telegram_3a5`.
    """
    if owns_files_root(principal):
        return PurePosixPath(".")
    raw = principal.encode("utf-8", "surrogatepass")
    name = "".join(chr(byte) if byte in _PLAIN_CHARACTERS else f"_{byte:02x}" for byte in raw)
    if len(name) > MAX_FOLDER_CHARACTERS:
        # `_h` is no escape, so a shortened name equals no other.
        digest = hashlib.sha256(raw).hexdigest()
        name = f"{name[: MAX_FOLDER_CHARACTERS - len(digest) - 2]}_h{digest}"
    return PurePosixPath(PRINCIPALS_FOLDER) / name


def _escape(part: str) -> str:
    """Return an id of a platform without `:`; the ids of the platforms of today stay as they are."""
    return quote(part, safe="+@=,;!*'()$&~-._ ") if ":" in part or "%" in part else part
