"""The tool policy of the chain clawdesk: on by itself, when tools are offered and when a call runs."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from sophon import ModelResponse, Pipeline, Services, ToolCall
from sophon.testing import EventRecorder, ScriptedModel
from sophon_hosting.host_chain import build_named_chain
from sophon_middlewares.chains import clawdesk

LEVELS = {"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}}
CALL = ToolCall("c1", "calculator", {"expression": "2+2"})


def hosted(services: Services) -> Pipeline:
    return build_named_chain(services, "clawdesk")


@pytest.mark.parametrize("compose", [clawdesk, hosted])
@pytest.mark.parametrize(
    ("settings", "principal", "is_allowed"),
    [
        (LEVELS, "bob", False),
        (LEVELS, "ada", True),
        ({}, "bob", True),
        ({**LEVELS, "Guards": {"Authorization": {"Enabled": False}}}, "bob", True),
    ],
)
async def test_only_what_the_level_permits_is_offered_and_runs_with_nothing_else_set(
    compose: Callable[[Services], Pipeline],
    settings: dict[str, Any],
    principal: str,
    is_allowed: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    model, events = ScriptedModel([ModelResponse(tool_calls=[CALL]), "done"]), EventRecorder()
    services = Services(models=model, events=events, settings=settings)
    ctx = services.turn("what is 2+2?", session_id="s", principal=principal)
    with caplog.at_level(logging.WARNING, "sophon"):
        await compose(services).run(ctx)

    [result] = [each.content for each in ctx.messages if each.role == "tool"]
    assert bool(model.requests[0].tools) is is_allowed
    assert result.startswith("4" if is_allowed else "blocked by Authorization (not_permitted)"), result
    assert caplog.messages == []
