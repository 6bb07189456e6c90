"""Checks of `sophon doctor`: each checks one aspect and returns findings; none of them raises."""

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
CONNECT = "for a real model set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama; see docs/models.md"
PROBE = "sophon-doctor"
"""Id of the session, run and call of a journal entry that is written to the store as a test, and deleted again."""


def python() -> Finding:
    """Check the version of Python."""
    text = f"Python {platform.python_version()} in {sys.prefix}"
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("python", text)
    return Finding("python", text, "failed", "install Python 3.11 or newer, then: make clean run PYTHON=python3.12")


def terminal() -> Finding:
    """Check that standard output is encoded as UTF-8."""
    encoding = sys.stdout.encoding or "none"
    if encoding.lower().replace("-", "") == "utf8":
        return Finding("terminal", f"encoding {encoding}")
    fix = "set LANG=C.UTF-8 or PYTHONUTF8=1; without it, unsupported characters are shown as ?"
    return Finding("terminal", f"encoding {encoding}", "warning", fix)


def files(options: GlobalOptions, environment: Mapping[str, str]) -> Finding:
    """Report which settings files exist."""
    base = options.settings or options.folder / FILE_NAME
    name = environment.get(ENVIRONMENT, "")
    paths = [base, *([base.with_name(f"{base.stem}.{name}{base.suffix}")] if name else [])]
    found = [str(path) for path in paths if path.exists()]
    return Finding("settings.files", f"read from {', '.join(found)}" if found else f"no {base}; using the defaults")


def wrong_settings(error: SettingsError) -> Iterator[Finding]:
    """Yield one failed finding per problem with the settings."""
    for problem in error.problems:
        yield Finding("settings", problem, "failed", "correct it; `sophon config schema` lists all settings")


def keys(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check that every API key of an active provider can be resolved."""
    for provider in settings.providers:
        for key in provider.keys if provider.active else ():
            where = f"key of {provider.id} from {key.origin}"
            if key.resolve(environment):
                yield Finding("keys", f"{where}: present")
            else:
                yield Finding("keys", f"{where}: missing or empty", "failed", f"set it, or remove {provider.id}")


def providers(services: Services, environment: Mapping[str, str]) -> Iterator[Finding]:
    """List the providers in order of preference, with the reason for each and its health."""
    reasons = {each.provider: each.reason for each in found_providers(services.settings, environment)}
    now = services.clock.monotonic()
    for provider in services.gateway.providers:
        models = ", ".join(model.info.name for model in provider.models)
        text = f"{provider.id} ({models}): {reasons.get(provider.id, 'created by the program')}"
        if provider.health(now) != "active":
            yield Finding("providers", f"{text}; {provider.health(now)}", "warning", "it receives no requests for now")
        else:
            yield Finding("providers", text, fix=CONNECT if provider.id == OFFLINE else "")


async def store(services: Services) -> Finding:
    """Check that the store can be opened, written and read."""
    url = services.settings.store.url
    try:
        await services.open()
        journal = services.store.journal
        await journal.start(PROBE, PROBE, PROBE)
        is_stored = PROBE in await journal.entries(PROBE)
        await journal.forget(PROBE)
    except SophonError as error:
        return Finding("store", str(error), "failed", "correct Store.Url, or repair the store at that address")
    if not is_stored:
        return Finding("store", f"{url} does not store what is written", "failed", "choose another Store.Url")
    return Finding("store", f"{url} can be opened, written and read")


def files_root(services: Services) -> Finding:
    """Check that the folder of the file tools is writable, or can be created."""
    root = services.folder / services.settings.tools.files_root
    existing = _nearest_existing(root.absolute())
    if root.exists() and not root.is_dir():
        return Finding("files", f"{root} is not a folder", "failed", "choose another Tools.FilesRoot")
    if not os.access(existing, os.W_OK | os.X_OK):
        return Finding("files", f"{existing} is not writable", "failed", "change its permissions, or Tools.FilesRoot")
    return Finding("files", f"the file tools use {root}{'' if root.exists() else ', which will be created'}")


def chain(services: Services) -> Finding:
    """Check that the configured chain can be composed."""
    chosen = services.settings.chain
    try:
        pipeline = chain_of(services)
    except SophonError as error:
        return Finding("chain", str(error), "failed", "correct Chain.Name or Chain.Factory")
    return Finding("chain", f"{chosen.factory or chosen.name}: {len(pipeline)} middlewares")


def tools(services: Services) -> Finding:
    """List the tools; duplicate names are detected when the services are created."""
    names = ", ".join(tool.name for tool in services.registry)
    return Finding("tools", f"{len(services.registry)}: {names}")


async def channels(services: Services, environment: Mapping[str, str]) -> list[Finding]:
    """Run the self-test of every configured channel, which sends requests to its platform."""
    found: list[Finding] = []
    for each in channels_of(services, environment):
        name = f"channels.{each.channel.name}"
        try:
            results = await each.channel.test()
        except Exception as error:  # noqa: BLE001 - a check never raises
            found.append(Finding(name, f"{type(error).__name__}: {error}", "failed", "see docs/channels.md"))
            continue
        found += [Finding(name, line.what, "ok" if line.ok else "failed", line.fix) for line in results]
    return found


def clock(services_clock: Clock) -> Finding:
    """Check that the date is plausible; certificates and budgets depend on it."""
    now = services_clock.now()
    if now.year < 2025:
        return Finding("clock", f"the date is {now:%Y-%m-%d}", "warning", "set the clock of this machine")
    return Finding("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def _nearest_existing(path: Path) -> Path:
    """Return the path itself if it exists, else its nearest existing parent."""
    return next(each for each in (path, *path.parents) if each.exists())
