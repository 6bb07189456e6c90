"""Message templates: the only messages that WhatsApp takes more than 24 hours after the person last wrote.

Source: "Message templates" and "Error codes" of Meta's documentation.
"""

from collections.abc import Mapping
from typing import Any

from sophon_channels.json_fields import sanitize_text
from sophon_channels.text.single_line import to_single_line
from sophon_channels.whatsapp.settings import WhatsAppTemplateSettings

MAX_PARAMETER_LENGTH = 200
"""Characters of the answer in a template. A parameter may have neither line breaks nor tabs nor more than four spaces
in a row, and a body 1024 characters with its parameters.
"""
EMPTY_PARAMETER = "\u2026"
"""Value of a parameter of which nothing is known; WhatsApp refuses an empty one."""
DOUBT_MESSAGE = "it is unknown whether the template arrived; it is not sent again, as it cannot say that it is a repeat"


def render_template(template: WhatsAppTemplateSettings, beginning: str) -> dict[str, Any]:
    """Return the payload of an outbound entry that is a template. Pure."""
    text = to_single_line(sanitize_text(beginning), MAX_PARAMETER_LENGTH) or EMPTY_PARAMETER
    fields = {"name": template.name, "language": template.language, "has_parameter": template.has_parameter}
    return {"text": text if template.has_parameter else "", "template": fields}


def build_template_message(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of the Cloud API for a payload of `render_template`. Pure."""
    fields = payload["template"]
    template: dict[str, Any] = {"name": fields["name"], "language": {"code": fields["language"]}}
    if fields["has_parameter"]:
        template["components"] = [{"type": "body", "parameters": [{"type": "text", "text": payload["text"]}]}]
    return {"type": "template", "template": template}
