"""Queue of tasks: statistics, dead letters, undelivered messages to chats."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "queue": Command(
        "commands",
        "Show the queue of a host, retry dead letters, pause, resume and drain it.",
        190,
        "[Queues](queues.md)",
    ),
}
