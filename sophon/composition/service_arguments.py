"""Checks of the arguments of `Services`: a value of the wrong kind is refused with what to write instead."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from importlib.util import find_spec
from typing import Final

from sophon.composition.service_parts import ServiceParts
from sophon.errors import CompositionError
from sophon.extras import install_command
from sophon.settings import Settings
from sophon.tools.tool import Tool

REQUIRED: Final[Mapping[str, tuple[str, str]]] = {
    "store": (
        "sessions",
        'an open or closed store, or leave it out and write settings={"Store": {"Url": "sqlite:///…"}}',
    ),
    "approvals": ("request", "an object with `async def request(self, request: ApprovalRequest) -> Decision`"),
    "events": ("emit", "an object with `def emit(self, event: Event) -> None`"),
    "clock": ("new_id", "a clock, such as sophon.clock.SystemClock()"),
    "policy": ("decide", "a policy, such as sophon.security.Policy.load(text)"),
    "vault": ("credentials", "a sophon.vault.CredentialVault"),
    "skills": (
        "install",
        'a catalogue of skills, or leave it out and write settings={"Skills": {"Directories": ["…"]}}',
    ),
    "embedder": ("embed", "an embedder, such as sophon.learning.hashing_embedder.HashingEmbedder()"),
    "policies": ("take_pending", "a cache of policies"),
    "turn_log": ("conclude", "a turn log, such as sophon.turn.session_log.SessionLog(store)"),
}
"""Argument -> attribute that every implementation has, and what to pass."""

ONE_ARGUMENT: Final = ("approvals", "events")
"""Arguments whose method is called with one positional argument."""


def check_service_arguments(parts: ServiceParts, **others: object) -> None:
    """Raise CompositionError for the first argument that is not of the kind that its name says."""
    for name, value in ({each.name: getattr(parts, each.name) for each in fields(parts)} | others).items():
        if value is None and name != "tools":
            continue
        if isinstance(value, type) and not _acts_as_instance(name, value):
            raise CompositionError(f"{name}={value.__name__} is a class; give an instance: {name}={value.__name__}()")
        if name in REQUIRED:
            _check_part(name, value)
            if name == "embedder" and find_spec("numpy") is None:
                raise CompositionError(f"embedder={value!r:.60} needs the package numpy: {install_command('vectors')}")
        elif name == "tools":
            _check_tools(value)
        elif name == "settings" and not isinstance(value, Settings | Mapping):
            raise CompositionError(f"settings={value!r:.60} is not a dict; sophon.settings.load_settings reads files")
        elif name == "instructions" and not isinstance(value, str):
            raise CompositionError(f"instructions={value!r:.60} is not a text")


def takes_one_argument(function: Callable[..., object]) -> bool:
    """Return whether a function can be called with one positional argument."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # a callable written in C that hides its signature
        return True
    return True


def _acts_as_instance(name: str, value: type) -> bool:
    """Return whether the method that the argument needs is one of the class itself."""
    method = inspect.getattr_static(value, REQUIRED[name][0], None) if name in REQUIRED else None
    return isinstance(method, staticmethod | classmethod)


def _check_tools(value: object) -> None:
    if isinstance(value, Tool):
        raise CompositionError(f"tools is the tool {value.name!r}; write a list: tools=[...]")
    if isinstance(value, str) or not isinstance(value, Iterable):
        name = getattr(value, "__name__", None) or f"{value!r:.60}"
        raise CompositionError(
            f"tools={name} is not a list of tools: write tools=[...], with @tool above each function"
        )


def _check_part(name: str, value: object) -> None:
    attribute, remedy = REQUIRED[name]
    found: object = getattr(value, attribute, None)
    if found is None:
        raise CompositionError(f"{name}={value!r:.60} is not of the right kind; write {remedy}")
    if name == "approvals" and inspect.isroutine(found) and not inspect.iscoroutinefunction(inspect.unwrap(found)):
        raise CompositionError(f"approvals={value!r:.60}: its method request is not async; write `async def request`")
    if name in ONE_ARGUMENT and callable(found) and not takes_one_argument(found):
        raise CompositionError(
            f"{name}={value!r:.60}: its method {attribute} takes {inspect.signature(found)}; write {remedy}"
        )
    if name == "events" and inspect.iscoroutinefunction(found):
        raise CompositionError(
            f"events={value!r:.60}: its method emit is async, and nobody awaits it; write `def emit`"
        )
