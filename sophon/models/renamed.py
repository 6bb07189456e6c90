"""A model under other facts than its own: another provider's id, a corrected window or price."""

from dataclasses import replace
from typing import Any

from sophon.models.model import Model, ModelInfo, ModelRequest, ModelResponse


class Renamed:
    """Passes everything on to the model it was made from."""

    __slots__ = ("_model", "info")

    def __init__(self, model: Model, info: ModelInfo) -> None:
        self._model = model
        self.info = info

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask the model."""
        return await self._model.complete(request)

    async def aclose(self) -> None:
        """Close the model, if it can be closed."""
        close = getattr(self._model, "aclose", None)
        if close is not None:
            await close()


def renamed(model: Model, **facts: Any) -> Model:
    """The model with these fields of ModelInfo; itself if they are its own."""
    info = replace(model.info, **facts)
    if info.function_calling != ("function_calling" in info.capabilities) and "function_calling" in facts:
        names = info.capabilities - {"function_calling"}
        info = replace(info, capabilities=names | {"function_calling"} if info.function_calling else names)
    return model if info == model.info else Renamed(model, info)
