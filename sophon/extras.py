"""Extras of the distribution: which of them installs an optional package, and the command that the user needs."""

from collections.abc import Mapping
from typing import Final

DISTRIBUTION: Final = "sophon-agents"

EXTRA_BY_PACKAGE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("alembic", "cronsim", "engineio", "jsonschema", "jwt", "markdown_it", "prometheus_client", "rich"), "host"
    ),
    **dict.fromkeys(("socketio", "sqlalchemy", "typer"), "host"),
    **dict.fromkeys(("litellm", "openai", "tiktoken"), "litellm"),
    "aiogram": "telegram",
    "psycopg": "postgres",
    "redis": "redis",
    **dict.fromkeys(("aio_pika", "aiormq"), "rabbitmq"),
    **dict.fromkeys(("httpx2", "mcp", "mcp_types", "starlette", "uvicorn"), "mcp"),
    "opentelemetry": "otel",
    "numpy": "vectors",
    "sentence_transformers": "embeddings",
    "pypdf": "documents",
    **dict.fromkeys(("onnxruntime", "tokenizers"), "onnx"),
    **dict.fromkeys(("aiohttp_socks", "socksio"), "socks"),
}
"""Package, as one imports it -> the extra that installs it."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def find_extra(error: BaseException) -> str | None:
    """Return the extra whose package an import lacks; None for any other error."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return EXTRA_BY_PACKAGE.get((name or "").partition(".")[0])


def describe_missing_package(error: BaseException) -> str | None:
    """Return one line that names the package that is missing and the command that installs it; None for an error that
    is not about an optional package.
    """
    extra = find_extra(error)
    if extra is None:
        return None
    package = str(getattr(error, "name", "")).partition(".")[0]
    return f"the package {package} is not installed: {install_command(extra)}"
