"""Paths of the OpenAPI document that are no operations: health, metrics, webhooks, the OpenAI-compatible endpoints."""

from collections.abc import Mapping
from typing import Any, Final

_OBJECT: Final = {"type": "object"}


def _answer(description: str, media_type: str = "application/json", schema: Any = _OBJECT) -> dict[str, Any]:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _public(name: str, summary: str, responses: Mapping[str, Any]) -> dict[str, Any]:
    return {"operationId": name, "tags": ["host"], "summary": summary, "security": [], "responses": responses}


def _openai(name: str, summary: str, responses: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "operationId": name,
        "tags": ["openai"],
        "summary": summary,
        "description": "Exists if `Hub.OpenAiApi` is true. Requests and answers are those of OpenAI's API.",
        "x-permission": ["OpenAiApi"],
        **more,
        "responses": {**responses, "default": _answer("An error in the form of OpenAI's API.")},
    }


OTHER_PATHS: Final[Mapping[str, Mapping[str, Any]]] = {
    "/healthz": {"get": _public("get_health", "Whether the process answers.", {"200": _answer("It does.")})},
    "/readyz": {
        "get": _public(
            "get_readiness",
            "Whether the host accepts messages and starts turns, with the result of each check.",
            {"200": _answer("It does."), "503": _answer("It does not.")},
        )
    },
    "/metrics": {
        "get": _public(
            "get_metrics",
            "Metrics in the text format of Prometheus.",
            {"200": _answer("The metrics.", "text/plain", {"type": "string"})},
        )
    },
    "/openapi.json": {"get": _public("get_openapi", "This document.", {"200": _answer("The document.")})},
    "/v1/models": {
        "get": _openai("list_openai_models", "List the models for OpenAI's clients.", {"200": _answer("The models.")})
    },
    "/v1/chat/completions": {
        "post": _openai(
            "create_chat_completion",
            "Run the last message as a turn, and answer as OpenAI's API does.",
            {
                "200": {
                    "description": "The completion, or its stream.",
                    "content": {
                        "application/json": {"schema": _OBJECT},
                        "text/event-stream": {"schema": {"type": "string"}},
                    },
                }
            },
            requestBody={
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "required": ["messages"],
                            "properties": {
                                "model": {"type": "string", "default": "sophon"},
                                "messages": {"type": "array", "items": _OBJECT},
                                "stream": {"type": "boolean", "default": False},
                            },
                        },
                        "example": {"model": "sophon", "messages": [{"role": "user", "content": "Hello"}]},
                    }
                },
            },
        )
    },
}
