"""Sessions: their messages, history, branches, search and export."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "sessions": Command(
        "commands",
        "List, search, show, rename, copy, import, export and delete sessions.",
        110,
        "[Search](search.md) and [import of conversations](importing.md)",
    ),
}
