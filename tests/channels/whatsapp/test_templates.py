"""A template tells a person of an answer after 24 hours, in the shape that was approved."""

from typing import Any

import pytest

from sophon_channels.contract import SendResult, SendSucceeded, SendUndeliverable
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.whatsapp.settings import WhatsAppTemplateSettings
from sophon_channels.whatsapp.templates import render_template
from tests.channels.whatsapp.conftest import Nobody
from tests.channels.whatsapp.graph_api import NUMBER_ID, GraphApi


def template(has_parameter: bool = True, name: str = "answer_ready") -> WhatsAppTemplateSettings:
    return WhatsAppTemplateSettings(name=name, language="en_US", has_parameter=has_parameter)


async def send(make: Any, chosen: WhatsAppTemplateSettings, **fields: Any) -> SendResult:
    channel = make(template=chosen)
    await channel.start(Nobody())
    payload = channel.render_reopening("The answer\n\tis      long. " * 50)
    return await channel.send(OutboundEntry("e", None, "whatsapp", NUMBER_ID, "1", "reopening", payload, **fields))


async def test_a_template_passes_a_closed_window_which_refuses_free_text(make: Any, graph: GraphApi) -> None:
    graph.closed.add("1")
    graph.templates["answer_ready", "en_US"] = 1
    assert isinstance(await send(make, template()), SendSucceeded)
    [sent] = graph.messages
    [parameter] = sent["template"]["components"][0]["parameters"]
    assert parameter["text"].startswith("The answer is long. The answer is long.")
    text = OutboundEntry("f", None, "whatsapp", NUMBER_ID, "1", "note", {"text": "hello"})
    channel = make()
    await channel.start(Nobody())
    refused = await channel.send(text)
    assert isinstance(refused, SendUndeliverable)
    assert refused.is_window_closed


async def test_a_template_without_a_parameter_has_no_components(make: Any, graph: GraphApi) -> None:
    graph.templates["answer_ready", "en_US"] = 0
    assert isinstance(await send(make, template(has_parameter=False)), SendSucceeded)
    assert "components" not in graph.messages[0]["template"]


@pytest.mark.parametrize(
    ("chosen", "code"), [(template(name="other"), "132001"), (template(has_parameter=False), "132000")]
)
async def test_a_template_that_was_not_approved_so_is_refused_with_a_hint(
    make: Any, graph: GraphApi, chosen: WhatsAppTemplateSettings, code: str
) -> None:
    graph.templates["answer_ready", "en_US"] = 1
    refused = await send(make, chosen)
    assert isinstance(refused, SendUndeliverable)
    assert "WhatsApp Manager" in refused.error
    assert code in refused.error
    assert not refused.is_window_closed


async def test_a_template_in_doubt_is_not_sent_twice(make: Any, graph: GraphApi) -> None:
    assert isinstance(await send(make, template(), doubtful=True), SendUndeliverable)
    assert graph.messages == []


@pytest.mark.parametrize("beginning", ["", "\n\t ", "\ud800"])
def test_a_parameter_is_never_empty(beginning: str) -> None:
    assert render_template(template(), beginning)["text"]


async def test_without_the_setting_there_is_nothing_to_send(make: Any) -> None:
    assert make().render_reopening("hello") is None
