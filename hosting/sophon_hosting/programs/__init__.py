"""Commands that run or inspect the whole product: serve, worker, chat, doctor, init, config, migrate."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "serve": Command(
        "serve",
        "Run the host: web page, API, Socket.IO and worker.",
        10,
        "[Running a host](host.md) and [several processes](operations.md#several-processes)",
    ),
    "chat": Command("chat.command", "Chat with the agent: one message, or interactively.", 20, "[Chat](#chat)"),
    "help": Command("help", "Show the help of a command, as --help does.", 30),
    "chain": Command("chain", "Show a chain as a table, with the guards.", 50, "[Chains](chains.md)"),
    "doctor": Command("doctor.command", "Diagnose this machine and the settings, with a fix for each problem.", 90),
    "config": Command("config", "Show, validate and describe the settings.", 100, "[Settings](settings.md)"),
    "decide": Command(
        "decide",
        "Explain what rules decide about a message before a model is asked.",
        220,
        "[Decision layer](decision-layer.md)",
    ),
    "store": Command("store", "Check the store, delete old data, compact it.", 360, "[Operations](operations.md)"),
    "worker": Command(
        "worker",
        "Run tasks without web page, API and Socket.IO.",
        370,
        "[Several processes](operations.md#several-processes)",
    ),
    "migrate": Command(
        "migrate",
        "Show whether the schema of the store is up to date, and migrate it.",
        380,
        "[Migrating the schema](operations.md#migrating-the-schema)",
    ),
    "init": Command(
        "init",
        "Write an initial appsettings.json and the workspace files.",
        390,
        "[Workspace files](memory.md#in-a-prompt)",
    ),
}
