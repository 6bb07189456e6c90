"""The kernel of the features: its registry names what the folders have, and their services start and stop in order."""

import ast
import asyncio
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import sophon_hosting.features
from sophon import ModelRequest, Services
from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import CompositionError, SettingsError, StoreError
from sophon.testing import FunctionModel
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features import FEATURES, FEATURES_GROUP, lifecycle, registry
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.features.lifecycle import FeatureLifecycle
from sophon_hosting.features.registry import build_registry, load_builtin_features, load_event_types, load_features
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_configured_chain
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.programs.shutdown_signals import run_until_stopped
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_hosting.store_lease import StoreLease
from sophon_middlewares.chains import twelve

FOLDER = Path(sophon_hosting.features.__file__).parent
PACKAGE = "sophon_hosting.features."

EARLY, LATE = Feature("early"), Feature("late")

# What the folders have, and what the registry says.


def test_every_folder_of_a_feature_is_in_the_registry_and_nothing_else_is() -> None:
    with_feature = {path.parent.name for path in FOLDER.glob("*/feature.py")}
    with_operations = {path.parent.name for path in FOLDER.glob("*/operations.py")}
    assert with_feature | with_operations == set(FEATURES)
    assert len(FEATURES) == len(set(FEATURES))


def test_a_feature_is_called_like_its_folder() -> None:
    assert [each.name for each in load_builtin_features()] == list(FEATURES)


def test_every_table_of_operations_is_listed_by_the_feature_of_its_folder() -> None:
    written = {name: set[str]() for name in FEATURES}
    for path in FOLDER.rglob("*.py"):
        if has_table(path):
            name, *_ = parts = path.relative_to(FOLDER).with_suffix("").parts
            written.setdefault(name, set()).add(PACKAGE + ".".join(parts))
    listed = {
        feature.name: [each for each in feature.operations if each.startswith(PACKAGE)]
        for feature in load_builtin_features()
    }
    assert {name: sorted(modules) for name, modules in listed.items()} == {
        name: sorted(modules) for name, modules in written.items()
    }


def has_table(path: Path) -> bool:
    """Whether a module assigns to `table`."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(each, ast.Name) and each.id == "table" for each in targets):
            return True
    return False


def test_each_phase_starts_once_and_stops_once() -> None:
    starting = [*lifecycle.BEFORE_STORE, *lifecycle.BEFORE_CLIENTS, *lifecycle.WITH_CLIENTS]
    stopping = [
        *(*lifecycle.WITHOUT_SENDERS, *lifecycle.BEFORE_TURNS_END),
        *(*lifecycle.WITHOUT_TURNS, *lifecycle.WITHOUT_CHANNELS, *lifecycle.LAST),
    ]
    assert Counter(starting) == Counter(stopping) == Counter(Phase)


def test_an_installed_object_that_is_no_feature_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, f"[{FEATURES_GROUP}]\nmine = sophon.errors:InputError\n")
    with pytest.raises(SettingsError, match=r"'mine' in sophon\.features is no Feature"):
        load_features.__wrapped__()


def test_installed_features_stand_behind_those_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # That they are not named like their entry points shows which order counts.
    install(tmp_path, monkeypatch, f"[{FEATURES_GROUP}]\nb = {__name__}:EARLY\na = {__name__}:LATE\n")
    assert [each.name for each in load_features.__wrapped__()] == [*FEATURES, "late", "early"]


@pytest.mark.parametrize(
    ("entries", "name"),
    [(f"a = {PACKAGE}usage.feature:FEATURE", "usage"), (f"a = {__name__}:EARLY\nb = {__name__}:EARLY", "early")],
    ids=["of the host", "installed"],
)
def test_two_features_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: str, name: str
) -> None:
    install(tmp_path, monkeypatch, f"[{FEATURES_GROUP}]\n{entries}\n")
    with pytest.raises(SettingsError, match=f"of feature-of-a-test: there is a feature '{name}' already"):
        load_features.__wrapped__()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("module_of_a_test_that_is_not_there:Event", "ModuleNotFoundError: No module named 'module_of_a_test"),
        ("sophon.events.base:Evnt", "AttributeError: module 'sophon.events.base' has no attribute 'Evnt'"),
        ("own_events_of_a_test:GoalChanged", "TypeError: event 'goal_changed' is declared twice"),
    ],
)
def test_an_event_that_cannot_be_loaded_is_named_with_its_feature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    source = "from sophon.events import Event\n\nclass GoalChanged(Event):\n    pass\n"
    (tmp_path / "own_events_of_a_test.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match=f"the feature 'load': {path} cannot be loaded: {reason}"):
        load_event_types([Feature("load", events=[path])])


@pytest.mark.parametrize("module", ["module_of_a_test_that_is_not_there", "sophon.errors"])
def test_operations_that_cannot_be_loaded_are_named_with_their_feature(module: str) -> None:
    with pytest.raises(SettingsError, match=f"the feature 'load': {module}:table cannot be loaded: "):
        build_registry([Feature("load", operations=[module])])


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, entry_points: str) -> None:
    """Put a distribution with the entry points where Python finds it."""
    metadata = folder / "feature_of_a_test-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: feature-of-a-test\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points)
    monkeypatch.syspath_prepend(str(folder))


# What becomes of services.


class Recorder:
    """A service that records its start and its stop; its start is a plain function."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name, self._log = name, log

    def start(self) -> None:
        self._log.append(f"start {self._name}")

    async def stop(self) -> None:
        self._log.append(f"stop {self._name}")


async def answer(request: ModelRequest) -> str:
    return "hi"


def process_of_a_host() -> HostProcess:
    services = Services(store=SqlHostStore("memory://"), models=FunctionModel(answer))
    return HostProcess(Host(services, twelve(services)), {})


def recorded(name: str, log: list[str], phase: Phase | None) -> FeatureService:
    return FeatureService(lambda process: Recorder(name, log), phase)


async def test_services_start_by_phase_and_within_one_in_the_order_of_features() -> None:
    log: list[str] = []
    features = [
        Feature("one", services=[recorded("1 triggers", log, Phase.TRIGGERS), recorded("1 work", log, Phase.WORK)]),
        Feature("two", services=[recorded("2 work", log, Phase.WORK), recorded("2 triggers", log, Phase.TRIGGERS)]),
    ]
    services = FeatureLifecycle(features, process_of_a_host())
    await services.start((Phase.WORK, Phase.TRIGGERS))
    assert log == ["start 1 work", "start 2 work", "start 1 triggers", "start 2 triggers"]
    log.clear()
    await services.stop((Phase.TRIGGERS, Phase.WORK))
    assert log == ["stop 1 triggers", "stop 2 triggers", "stop 1 work", "stop 2 work"]


async def test_a_service_that_is_switched_off_is_neither_started_nor_found() -> None:
    log: list[str] = []
    off, on = ServiceKey[Recorder]("off"), ServiceKey[Recorder]("on")
    process = process_of_a_host()
    declared = [
        FeatureService(lambda process: None, Phase.WORK, off),
        FeatureService(lambda process: Recorder("on", log), Phase.WORK, on),
    ]
    services = FeatureLifecycle([Feature("switched", services=declared)], process)
    await services.start(Phase)
    await services.stop(Phase)
    assert log == ["start on", "stop on"]
    assert process.host.feature_services.find(off) is None
    assert process.host.feature_services.find(on) is not None


async def test_a_service_without_a_phase_is_found_and_never_started() -> None:
    log: list[str] = []
    key = ServiceKey[Recorder]("still")
    process = process_of_a_host()
    declared = FeatureService(lambda process: Recorder("still", log), key=key)
    services = FeatureLifecycle([Feature("still", services=[declared])], process)
    await services.start(Phase)
    await services.stop(Phase)
    assert log == []
    assert process.host.feature_services.find(key) is not None


class Stubborn(Recorder):
    """A service that cannot be stopped."""

    async def stop(self) -> None:
        await super().stop()
        raise OSError(self._name)


async def test_services_behind_one_that_cannot_be_stopped_are_stopped() -> None:
    log: list[str] = []
    declared = [FeatureService(lambda process: Stubborn("one", log), Phase.WORK), recorded("two", log, Phase.WORK)]
    with pytest.raises(OSError, match="one"):
        await FeatureLifecycle([Feature("some", services=declared)], process_of_a_host()).stop(Phase)
    assert log == ["stop one", "stop two"]


async def test_the_errors_of_all_services_that_cannot_be_stopped_are_raised() -> None:
    declared = [FeatureService(lambda process: Stubborn("one", []), Phase.WORK)] * 2
    with pytest.raises(ExceptionGroup, match="several services could not be stopped"):
        await FeatureLifecycle([Feature("some", services=declared)], process_of_a_host()).stop(Phase)


def test_two_services_cannot_have_one_key() -> None:
    key = ServiceKey[object]("same")
    services = [FeatureService(lambda process: object(), key=key)] * 2
    with pytest.raises(CompositionError, match="two services have the key 'same'"):
        FeatureLifecycle([Feature("twins", services=services)], process_of_a_host())


SWITCHED_ON: dict[str, dict[str, Any]] = {
    "goals": {"Goals": {"Enabled": True}},
    "schedules": {"Schedules": {"Enabled": True, "Heartbeat": {"Enabled": True}}},
    "mcp": {"Mcp": {"Servers": [{"Id": "none", "Url": "http://127.0.0.1:1/mcp"}]}},
    "webhooks": {"Webhooks": {"Outgoing": [{"Id": "tell", "Url": "http://127.0.0.1:1", "Secret": "of some length"}]}},
    "host": {},
    "settings": {},
    "post_turn": {},
}
"""Settings with which each feature that has services with a phase creates them."""


@pytest.mark.parametrize("name", SWITCHED_ON)
async def test_a_service_that_did_not_start_has_nothing_to_stop(name: str) -> None:
    """A host whose start failed stops all its services, however far it came."""
    [feature] = [each for each in load_builtin_features() if each.name == name]
    services = Services(store=SqlHostStore("memory://"), models=FunctionModel(answer), settings=SWITCHED_ON[name])
    await FeatureLifecycle([feature], HostProcess(Host(services, twelve(services)), {})).stop(Phase)


def test_no_service_with_a_phase_is_left_out() -> None:
    with_phase = {each.name for each in load_builtin_features() if any(service.phase for service in each.services)}
    assert with_phase == set(SWITCHED_ON)


class Greeting:
    """A middleware of a feature."""

    before = ("AgenticLoop",)

    async def __call__(self, ctx: Context, next: Next) -> None:
        await next(ctx)


def test_a_middleware_of_a_feature_stands_in_the_chain_where_its_class_says(monkeypatch: pytest.MonkeyPatch) -> None:
    features = (Feature("polite", middlewares=lambda services: [Greeting()]), Feature("silent"))
    monkeypatch.setattr(registry, "load_features", lambda: features)
    chain = [get_middleware_name(each) for each in build_configured_chain(Services(models=FunctionModel(answer)))]
    assert chain.index("Greeting") == chain.index("AgenticLoop") - 1


# In a whole host.


ROUNDS_OF_A_REQUEST = 200
"""Rounds of the event loop in which a host that serves its clients answers one, and more."""


class Witness:
    """A service that notes how far the host is whenever it starts or stops."""

    def __init__(self, stage: "Stage", phase: Phase) -> None:
        self._stage, self._phase = stage, phase

    async def start(self) -> None:
        await self._stage.note_start(self._phase)

    async def stop(self) -> None:
        await self._stage.note_stop(self._phase)


class Stage:
    """A host that is served, with a service in each phase, a channel, a client, and a turn that lasts.

    The start of the service of phase `failing` fails.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: Phase | None = None) -> None:
        self.started: list[tuple[Phase, str]] = []
        self.stopped: list[tuple[Phase, str, str]] = []
        self.failing, self.turn = failing, asyncio.Event()
        self.channel = SyntheticChannel()
        self.services = Services(
            store=SqlHostStore("memory://"),
            models=FunctionModel(self.answer),
            settings={"Planning": {"Mode": "Never"}, "AgentExecution": {"Titles": False}},
        )
        # From the last one to the first, so that it is the phases that put them in order.
        witnesses = [FeatureService(partial(self.create, each), each) for each in reversed(Phase)]
        features = (*load_features(), Feature("witnesses", services=witnesses))
        monkeypatch.setattr("sophon_hosting.host_server.load_features", lambda: features)
        self.address = bind_address("127.0.0.1", 0)
        self.server = HostServer(self.services, {}, channels=[ConfiguredChannel(self.channel)])
        self.request: asyncio.Task[int] | None = None

    def create(self, phase: Phase, process: HostProcess) -> Witness:
        return Witness(self, phase)

    async def answer(self, request: ModelRequest) -> str:
        self.turn.set()
        try:
            await asyncio.Event().wait()
            return "never"
        finally:
            self.turn.clear()

    async def get_health(self) -> int:
        async with httpx.AsyncClient(base_url=self.address.url, trust_env=False, timeout=30) as client:
            return (await client.get("/healthz")).status_code

    async def note_start(self, phase: Phase) -> None:
        if phase is Phase.PROCESS:
            self.started.append((phase, "nothing is open"))
            return
        await self.services.store.runs.list_unfinished()  # which a store that is not open would refuse
        if self.request is None:
            self.request = asyncio.create_task(self.get_health())
        if phase in (Phase.DELIVERY, Phase.TOOLS, Phase.TRIGGERS):
            assert await self.request == 200
        for _ in range(ROUNDS_OF_A_REQUEST):
            await asyncio.sleep(0)
        self.started.append((phase, "clients are served" if self.request.done() else "clients wait"))
        if phase is self.failing:
            raise SettingsError(["it does not work"])

    async def note_stop(self, phase: Phase) -> None:
        await self.services.store.runs.list_unfinished()
        channel: str = self.channel.health.state
        try:
            await self.channel.deliver() if channel == "running" else None
        except StoreError:
            channel = "only sending"
        self.stopped.append((phase, channel, "a turn" if self.turn.is_set() else "no turn"))


async def test_the_services_of_a_host_start_and_stop_in_the_order_of_their_phases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch)
    with stage.address.socket:
        await stage.server.start(stage.address)
        await stage.channel.wait_until(lambda: stage.channel.health.state == "running")
        await stage.server.host.accept(RunRequest("wait", "s", "ada"))
        await stage.turn.wait()
        await stage.server.shutdown(0)
    assert stage.started == [
        (Phase.PROCESS, "nothing is open"),
        (Phase.SETTINGS, "clients wait"),
        (Phase.AFTER_TURNS, "clients wait"),
        (Phase.WORK, "clients wait"),
        (Phase.DELIVERY, "clients are served"),
        (Phase.TOOLS, "clients are served"),
        (Phase.TRIGGERS, "clients are served"),
    ]
    assert stage.stopped == [
        (Phase.SETTINGS, "running", "a turn"),
        (Phase.TRIGGERS, "running", "a turn"),
        (Phase.WORK, "only sending", "a turn"),
        (Phase.TOOLS, "only sending", "no turn"),
        (Phase.DELIVERY, "stopped", "no turn"),
        (Phase.AFTER_TURNS, "stopped", "no turn"),
        (Phase.PROCESS, "stopped", "no turn"),
    ]


def test_a_service_that_fails_at_start_ends_the_host_and_stops_what_had_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(monkeypatch, failing=Phase.WORK)

    async def start() -> None:
        await stage.server.start(stage.address)
        raise AssertionError("the host has started")

    async def shut_down(grace_seconds: float) -> None:
        await stage.server.shutdown(grace_seconds)
        await end_tasks(stage.request)

    with stage.address.socket, pytest.raises(SettingsError, match="it does not work"):
        run_until_stopped(start, shut_down, stage.server.host, StoreLease("memory://"))
    assert [phase for phase, _ in stage.started] == [Phase.PROCESS, Phase.SETTINGS, Phase.AFTER_TURNS, Phase.WORK]
    assert {Phase.SETTINGS, Phase.AFTER_TURNS} <= {phase for phase, *_ in stage.stopped}
