"""The checks of `sophon doctor`: each looks at one thing and gives its findings, and none of them raises."""

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sophon.clock import Clock
from sophon.errors import SettingsError, SophonError
from sophon.models.configured import found_providers
from sophon.models.known import OFFLINE
from sophon.services import Services
from sophon.settings import Settings
from sophon.settings.loading import ENVIRONMENT, FILE_NAME
from sophon_hosting.channels.configured import channels_of
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.findings import Finding
from sophon_hosting.composition import chain_of

OLDEST_PYTHON = (3, 11)
CONNECT = "for a real model set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama; docs/models.md tells more"
PROBE = "sophon-doctor"
"""The run and the call that are written to the store to see whether it can be, and taken out again."""


def python() -> Finding:
    """The version of Python."""
    text = f"Python {platform.python_version()} in {sys.prefix}"
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("python", text)
    return Finding("python", text, "failed", "install Python 3.11 or newer, then: make clean run PYTHON=python3.12")


def terminal() -> Finding:
    """Whether what people write can be shown."""
    encoding = sys.stdout.encoding or "none"
    if encoding.lower().replace("-", "") == "utf8":
        return Finding("terminal", f"encoding {encoding}")
    fix = "set LANG=C.UTF-8 (or PYTHONUTF8=1), or signs that it lacks are shown as ?"
    return Finding("terminal", f"encoding {encoding}", "warning", fix)


def files(options: GlobalOptions, environment: Mapping[str, str]) -> Finding:
    """Which settings files there are."""
    base = options.settings or options.folder / FILE_NAME
    name = environment.get(ENVIRONMENT, "")
    paths = [base, *([base.with_name(f"{base.stem}.{name}{base.suffix}")] if name else [])]
    found = [str(path) for path in paths if path.exists()]
    return Finding("settings.files", f"read from {', '.join(found)}" if found else f"no {base}; defaults hold")


def wrong_settings(error: SettingsError) -> Iterator[Finding]:
    """A finding for every problem with the settings."""
    for problem in error.problems:
        yield Finding("settings", problem, "failed", "correct it; `sophon config schema` has all that can be set")


def keys(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether every key that the settings name is there."""
    for provider in settings.providers:
        for key in provider.keys if provider.active else ():
            where = f"key of {provider.id} from {key.origin}"
            if key.resolve(environment):
                yield Finding("keys", f"{where}: there")
            else:
                yield Finding(
                    "keys", f"{where}: missing or empty", "failed", f"put it there, or take {provider.id} out"
                )


def providers(services: Services, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Who can be asked, in that order, and why these."""
    reasons = {each.provider: each.reason for each in found_providers(services.settings, environment)}
    now = services.clock.monotonic()
    for provider in services.gateway.providers:
        models = ", ".join(model.info.name for model in provider.models)
        text = f"{provider.id} ({models}): {reasons.get(provider.id, 'given by the program')}"
        if provider.health(now) != "active":
            yield Finding("providers", f"{text}; {provider.health(now)}", "warning", "it is not asked as it is")
        else:
            yield Finding("providers", text, fix=CONNECT if provider.id == OFFLINE else "")


async def store(services: Services) -> Finding:
    """Whether the store opens, and keeps what is written."""
    url = services.settings.store.url
    try:
        await services.open()
        journal = services.store.journal
        await journal.start(PROBE, PROBE, PROBE)
        kept = PROBE in await journal.entries(PROBE)
        await journal.forget(PROBE)
    except SophonError as error:
        return Finding("store", str(error), "failed", "correct Store.Url, or what stands at that address")
    if not kept:
        return Finding("store", f"{url} does not keep what is written", "failed", "choose another Store.Url")
    return Finding("store", f"{url} opens and keeps what is written")


def files_root(services: Services) -> Finding:
    """Whether the file tools can write where they may."""
    root = services.folder / services.settings.tools.files_root
    there = _nearest(root.absolute())
    if root.exists() and not root.is_dir():
        return Finding("files", f"{root} is no folder", "failed", "choose another Tools.FilesRoot")
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding("files", f"{there} may not be written", "failed", "change its rights, or Tools.FilesRoot")
    return Finding("files", f"the file tools work in {root}{'' if root.exists() else ', which they will create'}")


def chain(services: Services) -> Finding:
    """Whether the chain can be built."""
    chosen = services.settings.chain
    try:
        pipeline = chain_of(services)
    except SophonError as error:
        return Finding("chain", str(error), "failed", "correct Chain.Name or Chain.Factory")
    return Finding("chain", f"{chosen.factory or chosen.name}: {len(pipeline)} middlewares")


def tools(services: Services) -> Finding:
    """Which tools there are; two of one name would have kept the services from being made."""
    names = ", ".join(tool.name for tool in services.registry)
    return Finding("tools", f"{len(services.registry)}: {names}")


async def channels(services: Services, environment: Mapping[str, str]) -> list[Finding]:
    """Whether each channel is set up as it must be, asked of its platform."""
    found: list[Finding] = []
    for each in channels_of(services, environment):
        name = f"channels.{each.channel.name}"
        try:
            told = await each.channel.test()
        except Exception as error:  # noqa: BLE001 - a check raises nothing
            found.append(Finding(name, f"{type(error).__name__}: {error}", "failed", "see docs/channels.md"))
            continue
        found += [Finding(name, line.what, "ok" if line.ok else "failed", line.fix) for line in told]
    return found


def clock(services_clock: Clock) -> Finding:
    """Whether the date is one that certificates and budgets can live with."""
    now = services_clock.now()
    if now.year < 2025:
        return Finding("clock", f"it is {now:%Y-%m-%d}", "warning", "set the clock of this machine")
    return Finding("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def _nearest(path: Path) -> Path:
    """The path itself, or the first folder above it that exists."""
    return next(each for each in (path, *path.parents) if each.exists())
