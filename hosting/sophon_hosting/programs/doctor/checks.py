"""Checks of `sophon doctor`: each checks one aspect and returns findings; none of them raises."""

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sophon.builtin_tools.command_environment import find_withheld_variables
from sophon.clock import Clock
from sophon.errors import SettingsError, SophonError
from sophon.models.capabilities import FAST, find_fast
from sophon.models.providers.provider_factory import select_providers
from sophon.models.providers.provider_types import OFFLINE
from sophon.security import describe_error
from sophon.services import Services
from sophon.settings import Settings
from sophon.settings.loader import ENVIRONMENT_VARIABLE, SETTINGS_FILE_NAME
from sophon.stores.health import RESERVE_BYTES
from sophon_hosting.channels.channel_factory import create_channels
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import find_settings_warnings
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning
from sophon_hosting.programs.process_hardening import COMMAND_TOOL, format_withheld_variable
from sophon_hosting.rendering.value_formatting import format_bytes
from sophon_hosting.store.contract import host_store

MIN_PYTHON_VERSION = (3, 11)
REAL_MODEL_HINT = "for a real model set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama; see docs/models.md"
FILE_FIX = "correct the file: readable UTF-8 text with one JSON object, without comments and trailing commas"
COMMAND_RIGHTS = (
    f"an approved command of {COMMAND_TOOL} has the rights of this account: it can read the settings, the store, "
    "secret files and other processes of the account, also the shell that started the host; as root everything"
)
UNPROTECTED_PROCESS = "only on Linux is the environment of the host closed to other processes of its account"
COMMAND_RIGHTS_FIX = (
    "set Guards.Sandbox.Enabled to true; or run the host under an account of its own, or in a container; or put "
    "system.execute into Tools.Disabled"
)
DAMAGE_FIX = (
    "stop the host and restore a backup, or save what can be read with `sqlite3 FILE .recover`; see docs/operations.md"
)
LOW_SPACE_BYTES = 16 * RESERVE_BYTES
"""Free space below which `sophon doctor` warns."""

PROBE_ID = "sophon-doctor"
"""Id of the session, run and call of a journal entry that is written to the store as a test, and deleted again."""


def check_python() -> DoctorFinding:
    """Check the version of Python."""
    text = f"Python {platform.python_version()} in {sys.prefix}"
    if sys.version_info >= MIN_PYTHON_VERSION:
        return ok("python", text)
    return failed("python", text, "install Python 3.11 or newer, then: make clean run PYTHON=python3.12")


def check_terminal() -> DoctorFinding:
    """Check that standard output is encoded as UTF-8."""
    encoding = sys.stdout.encoding or "none"
    if encoding.lower().replace("-", "") == "utf8":
        return ok("terminal", f"encoding {encoding}")
    fix = "set LANG=C.UTF-8 or PYTHONUTF8=1; without it, unsupported characters are shown as ?"
    return warning("terminal", f"encoding {encoding}", fix)


def check_settings_files(options: GlobalOptions, environment: Mapping[str, str]) -> DoctorFinding:
    """Report which settings files exist; fail if the file given with --settings does not."""
    paths = _settings_paths(options, environment)
    if options.settings_file is not None and not paths[0].exists():
        text = f"{paths[0]}: there is no such file"
        return failed("settings.files", text, "correct --settings, or omit it for the defaults")
    found = [str(path) for path in paths if path.exists()]
    return ok("settings.files", f"read from {', '.join(found)}" if found else f"no {paths[0]}; using the defaults")


def findings_from_settings_error(
    error: SettingsError, options: GlobalOptions, environment: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    """Yield one failed finding per problem with the settings; the fix of an unusable file is that of the file."""
    files = tuple(f"{path}: " for path in _settings_paths(options, environment))
    for problem in error.problems:
        fix = FILE_FIX if problem.startswith(files) else "correct it; `sophon config schema` lists all settings"
        yield failed("settings", problem, fix)


def check_dangerous_settings(
    settings: Settings, options: GlobalOptions, environment: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    """Report each setting that permits more than most people want, by the id of `sophon audit settings`."""
    for each in find_settings_warnings(settings, options, environment):
        yield warning(each.id, str(each), each.fix)


def check_provider_keys(settings: Settings, environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Check that every API key of an active provider can be resolved."""
    for provider in settings.providers:
        for key in provider.keys if provider.active else ():
            where = f"key of {provider.id} from {key.source_description}"
            if key.resolve(environment):
                yield ok("keys", f"{where}: present")
            else:
                yield failed("keys", f"{where}: missing or empty", f"set it, or remove {provider.id}")


def check_providers(services: Services, environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """List the providers in order of preference, with the reason for each and its health."""
    reasons = {each.provider_id: each.reason for each in select_providers(services.settings, environment)}
    now = services.clock.monotonic()
    for provider in services.gateway.providers:
        models = ", ".join(model.info.name for model in provider.models)
        text = f"{provider.id} ({models}): {reasons.get(provider.id, 'created by the program')}"
        if provider.health(now) != "active":
            yield warning("providers", f"{text}; {provider.health(now)}", "it receives no requests for now")
        else:
            yield ok("providers", text, fix=REAL_MODEL_HINT if provider.id == OFFLINE else "")


def check_capabilities(services: Services) -> DoctorFinding:
    """List the capabilities that hints of plan steps can ask for, and the model that votes."""
    infos = [model.info for provider in services.gateway.providers for model in provider.models]
    known = [f"{info.name}: {', '.join(sorted(info.capabilities)) or 'none'}" for info in infos]
    fast = find_fast(services.gateway.candidates())
    votes = f"votes go to {fast.info.id}" if fast else f"no model is {FAST!r}, so votes go to the turn's own model"
    return ok("capabilities", f"{'; '.join(known)}; {votes}")


async def check_store(services: Services) -> DoctorFinding:
    """Check that the store can be opened, written and read."""
    url = services.settings.store.url
    try:
        damage = await host_store(services).maintenance.find_damage()
        if damage:
            more = f"; and {len(damage) - 5} more" if len(damage) > 5 else ""
            return failed("store", f"{url} is damaged: {'; '.join(damage[:5])}{more}", DAMAGE_FIX)
        await services.open()
        journal = host_store(services).journal
        await journal.start(PROBE_ID, PROBE_ID, PROBE_ID)
        is_stored = PROBE_ID in await journal.load_entries(PROBE_ID)
        await journal.delete(PROBE_ID)
    except SophonError as error:
        return failed("store", str(error), "correct Store.Url, or give the host another store")
    except Exception as error:  # noqa: BLE001 - a check never raises
        return failed("store", f"{url}: {describe_error(error)}", "repair the store at that address")
    if not is_stored:
        return failed("store", f"{url} does not store what is written", "choose another Store.Url")
    space = await host_store(services).maintenance.measure_space()
    text = f"{url} is intact, and can be opened, written and read; it uses {format_bytes(space.used_bytes)}"
    if space.free_bytes is None:
        return ok("store", text)
    text += f", {format_bytes(space.free_bytes)} are free"
    if space.free_bytes < LOW_SPACE_BYTES:
        fix = f"free space: below {format_bytes(RESERVE_BYTES)} a host accepts nothing; see docs/operations.md"
        return warning("store", text, fix)
    return ok("store", text)


def check_files_root(services: Services) -> DoctorFinding:
    """Check that the folder of the file tools is writable, or can be created."""
    root = services.folder / services.settings.tools.files_root
    existing = _nearest_existing(root.absolute())
    if root.exists() and not root.is_dir():
        return failed("files", f"{root} is not a folder", "choose another Tools.FilesRoot")
    if not os.access(existing, os.W_OK | os.X_OK):
        return failed("files", f"{existing} is not writable", "change its permissions, or Tools.FilesRoot")
    return ok("files", f"the file tools use {root}{'' if root.exists() else ', which will be created'}")


def check_commands(services: Services) -> Iterator[DoctorFinding]:
    """Report what commands of system.execute can reach, and variables that they do not receive although listed."""
    if COMMAND_TOOL not in services.registry:
        yield ok("commands", f"{COMMAND_TOOL} is disabled")
        return
    for name in find_withheld_variables(services.settings):
        fix = "remove the name, or give the value to commands in a variable of another name"
        yield warning("commands", format_withheld_variable(name), fix)
    if services.settings.guards.sandbox.enabled:
        return  # `check_sandbox` reports what they can reach
    yield DoctorFinding("commands", COMMAND_RIGHTS, "warning" if is_privileged() else "ok", COMMAND_RIGHTS_FIX)
    if sys.platform != "linux":
        yield warning("commands", UNPROTECTED_PROCESS, COMMAND_RIGHTS_FIX)


def is_privileged() -> bool:
    """Return whether this process runs as root, from which the memory of no process is protected."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def check_chain(services: Services) -> DoctorFinding:
    """Check that the configured chain can be composed."""
    chosen = services.settings.chain
    try:
        pipeline = build_pipelines(services).default
    except SophonError as error:
        return failed("chain", str(error), "correct Chain.Name or Chain.Factory")
    return ok("chain", f"{chosen.factory or chosen.name}: {len(pipeline)} middlewares")


def check_tools(services: Services) -> DoctorFinding:
    """List the tools; duplicate names are detected when the services are created."""
    names = ", ".join(tool.name for tool in services.registry)
    return ok("tools", f"{len(services.registry)}: {names}")


async def check_channels(services: Services, environment: Mapping[str, str]) -> list[DoctorFinding]:
    """Run the self-test of every configured channel, which sends requests to its platform."""
    found: list[DoctorFinding] = []
    for each in create_channels(services, environment):
        name = f"channels.{each.channel.name}"
        try:
            results = await each.channel.run_self_test()
        except Exception as error:  # noqa: BLE001 - a check never raises
            text = f"{type(error).__name__}: {describe_error(error)}"
            found.append(failed(name, text, "see docs/channels.md"))
            continue
        found += [DoctorFinding(name, line.summary, "ok" if line.ok else "failed", line.fix) for line in results]
    return found


def check_clock(clock: Clock) -> DoctorFinding:
    """Check that the date is plausible; certificates and budgets depend on it."""
    now = clock.now()
    if now.year < 2025:
        return warning("clock", f"the date is {now:%Y-%m-%d}", "set the clock of this machine")
    return ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def _settings_paths(options: GlobalOptions, environment: Mapping[str, str]) -> list[Path]:
    """Return the settings files that are read: the base file, then that of the environment if one is named."""
    base = options.settings_file or options.settings_folder / SETTINGS_FILE_NAME
    name = environment.get(ENVIRONMENT_VARIABLE, "")
    return [base, *([base.with_name(f"{base.stem}.{name}{base.suffix}")] if name else [])]


def _nearest_existing(path: Path) -> Path:
    """Return the path itself if it exists, else its nearest existing parent."""
    return next(each for each in (path, *path.parents) if each.exists())
