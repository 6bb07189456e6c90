"""Fields and limits of the manifest of a skill's tools, as pydantic validates them."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from sophon.risk import RiskLabel

_SEMVER: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[\w.-]+)?(\+[\w.-]+)?", re.ASCII)


def _check_version(value: str) -> str:
    if _SEMVER.fullmatch(value) is None:
        raise ValueError(f"{value!r} is not a semantic version such as 1.0.0")
    return value


def _check_entry_point(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\\" in value or "\0" in value:
        raise ValueError(f"{value!r} must be a path within the folder of the skill")
    return value


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)


class _Sandbox(_Section):
    network: bool = False
    timeout_seconds: float = Field(default=30, gt=0, le=600)
    max_memory_mb: int = Field(default=256, ge=16, le=8192)


class _Credential(_Section):
    service: str
    scopes: list[str] = []
    required: bool = False
    access: Literal["proxy"] = "proxy"


class _Tool(_Section):
    name: str = Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_-]{0,39}$")
    description: str = Field(min_length=1, max_length=2000)
    risk_level: RiskLabel = "high"
    parameters: dict[str, Any] = {"type": "object", "properties": {}}


class ManifestModel(_Section):
    """A manifest, in JSON spelling."""

    name: str
    version: Annotated[str, AfterValidator(_check_version)]
    author: str = Field(default="", max_length=200)
    license: str = Field(default="", max_length=200)
    description: str = Field(min_length=1, max_length=2000)
    runtime: Literal["python", "csharp", "sandbox"]
    entrypoint: Annotated[str, AfterValidator(_check_entry_point)]
    tools: list[_Tool] = Field(min_length=1, max_length=64)
    tags: list[Annotated[str, Field(max_length=32)]] = Field(default=[], max_length=10)
    category: str = Field(default="", max_length=64)
    credentials: list[_Credential] = []
    sandbox: _Sandbox = _Sandbox()
