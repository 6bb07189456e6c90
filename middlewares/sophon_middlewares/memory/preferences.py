"""Preferences: loads how the person wants to be answered, and puts it into each prompt."""

from collections.abc import Mapping
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import NotFound, StoreError
from sophon.extensions import Key
from sophon.preferences import NO_PREFERENCES, build_preferences_section
from sophon.preferences import Preferences as PersonPreferences
from sophon.turn.permissions import find_level
from sophon_middlewares.prompt.prompt_section import PromptSection

PREFERENCES: Key[PersonPreferences] = Key("preferences")
"""The preferences of the person of the turn."""


class Preferences:
    """Loads the preferences of the person with the session, and adds a section to the system prompt of each model call.

    Their model is asked if neither the message nor the session names one, it still exists, and their level still has
    the feature `ChooseModel`. In a group those of the group count. A store that cannot be read costs the turn the
    preferences, nothing else. A plan step has those of its turn. Source: ClawDesk, stage 1.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
    before = ("Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "PromptToolBridge", "Planning")
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "loads the preferences of the person; takes their model if the message names none",
        "model call": "adds them to the system prompt",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        preferences = await _load(ctx)
        if preferences is NO_PREFERENCES:
            await next(ctx)
            return
        if ctx.model is None and preferences.model and _may_choose_model(ctx):
            ctx.model = _find_model(ctx, preferences.model)
        section = build_preferences_section(preferences)
        if not section:
            await next(ctx)
            return
        layer = PromptSection(section)
        with ctx.call_layer(layer, overhead=layer.find_overhead):
            await next(ctx)


async def _load(ctx: Context) -> PersonPreferences:
    if ctx.depth:
        return ctx.root.get(PREFERENCES) or NO_PREFERENCES
    person = ctx.data_owner if ctx.group else ctx.principal
    try:
        found = await ctx.services.store.preferences.get(person)
    except StoreError:
        return NO_PREFERENCES
    ctx.put(PREFERENCES, found)
    return found if found != NO_PREFERENCES else NO_PREFERENCES


def _may_choose_model(ctx: Context) -> bool:
    """Return whether the model of the preferences counts; those of a group nobody sets but who runs the host."""
    return ctx.group or ctx.settings.permissions.levels.allows(find_level(ctx), "ChooseModel")


def _find_model(ctx: Context, name: str) -> str | None:
    try:
        return ctx.services.gateway.find(name).info.id
    except NotFound:
        return None
