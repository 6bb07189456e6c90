"""Dialogue on a terminal that sets up a provider: type, key, model; each is tried before anything is saved."""

import asyncio
import getpass
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from sophon.errors import InputError, TrialFailed
from sophon.models.model import ModelInfo
from sophon.models.providers.model_listing import ModelListing
from sophon.models.providers.provider_factory import select_providers
from sophon.models.providers.provider_types import OFFLINE
from sophon.principals import STORE_OPERATOR
from sophon.services import Services
from sophon.settings.validation_errors import suggest_nearest
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings_with_layers
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.features.settings.live_settings import LiveSettings
from sophon_hosting.features.settings.provider_setup import ProviderChoice, ProviderSetup, list_types
from sophon_hosting.rendering.control_characters import escape_control_characters

MAX_SHOWN_MODELS = 40
"""Models that are listed; the name of any other can be typed."""

MAX_ATTEMPTS = 3
"""How often a provider, a key or a model is asked for."""

T = TypeVar("T")


class ProviderDialogue:
    """Asks for a provider. Nothing is saved before a model has answered; an empty answer ends the dialogue."""

    def __init__(self, options: GlobalOptions) -> None:
        loaded = load_cli_settings_with_layers(options)
        self._found = select_providers(loaded.settings, os.environ)
        self._services: Services = create_services(options, loaded.settings)
        self._setup = ProviderSetup(LiveSettings([self._services], loaded), self._services, os.environ)
        self._reader = StdinReader()

    def run(self) -> None:
        """Run the dialogue. Raises InputError if all attempts failed."""
        known = [each for each in self._found if each.settings.type != OFFLINE]
        if known:
            write_lines([f"Model: {each.provider_id} ({each.reason})." for each in known])
            return
        choice = self._ask_type()
        if choice is None:
            return
        found = self._ask_key(choice)
        if found is None:
            return
        choice, listing = found
        self._ask_model(choice, listing)

    def _ask_type(self) -> ProviderChoice | None:
        types = list_types()
        names = [str(each["type"]) for each in types]
        write_lines(["The offline model answers. Set up another one?", f"  {', '.join(names)}"])

        def ask() -> ProviderChoice | None:
            answer = self._read("Provider (empty: not now): ").casefold()
            if not answer:
                return None
            if answer not in names:
                raise InputError(f"there is no provider {answer!r}{suggest_nearest(answer, names)}")
            needs_url = types[names.index(answer)]["needs_url"]
            url = self._read("Address of the server, such as http://localhost:8000/v1: ") if needs_url else ""
            return ProviderChoice(answer, None, url or None)

        return _repeat(ask, "no provider was chosen")

    def _ask_key(self, choice: ProviderChoice) -> tuple[ProviderChoice, ModelListing] | None:
        needs_key = next(each["needs_key"] for each in list_types() if each["type"] == choice.type)

        def ask() -> tuple[ProviderChoice, ModelListing] | None:
            key = getpass.getpass("Key (it is not shown): ").strip()
            if not key and needs_key:
                return None
            tried = replace(choice, key=key or None)
            return tried, asyncio.run(self._setup.list_models(tried))

        return _repeat(ask, "no key was accepted")

    def _ask_model(self, choice: ProviderChoice, listing: ModelListing) -> None:
        models = listing.models[:MAX_SHOWN_MODELS]
        lines = [
            f"  {number:>3}  {escape_control_characters(each.name)}  {describe_price(each)}"
            for number, each in enumerate(models, 1)
        ]
        write_lines(["Models:", *lines])

        def ask() -> ModelInfo | None:
            answer = self._read("Model, by number or name (empty: not now): ")
            if not answer:
                return None
            is_number = answer.isdecimal() and 0 < int(answer) <= len(models)
            return asyncio.run(self._save(choice, models[int(answer) - 1].name if is_number else answer))

        info = _repeat(ask, "no model was set up")
        if info is not None:
            saved = f"{info.id} answers, and is saved. A host that runs already uses it from its next start on."
            write_lines([saved, f"What it costs: {describe_price(info)}."])

    async def _save(self, choice: ProviderChoice, model: str) -> ModelInfo:
        async with self._services:
            return await self._setup.save(choice, model, by=STORE_OPERATOR)

    def _read(self, question: str) -> str:
        return (self._reader.read_line(question) or "").strip()


def _repeat(ask: Callable[[], T], failure: str) -> T:
    """Return what `ask` returns; an error is shown, and it is asked again. Raises InputError after the last attempt."""
    for _ in range(MAX_ATTEMPTS):
        try:
            return ask()
        except (TrialFailed, InputError) as error:
            write_lines([str(error)])
    raise InputError(f"{failure}; `sophon init` asks again")


def describe_price(info: ModelInfo) -> str:
    """Return what a model costs, as a text for people."""
    if info.prices is not None:
        return f"${info.prices[0]:g} for a million tokens it reads, ${info.prices[1]:g} for a million it writes"
    return "price unknown" if info.is_cost_unknown else "free: it runs on a server of your own"
