"""Model with overridden facts: another provider's id, a corrected context window or price."""

from dataclasses import replace
from typing import Any

from sophon.messages import Message
from sophon.models.model import Model, ModelInfo, ModelRequest, ModelResponse


class ModelWithOverrides:
    """Wrapper that delegates to a model and has its own `info`."""

    __slots__ = ("_model", "info")

    def __init__(self, model: Model, info: ModelInfo) -> None:
        self._model = model
        self.info = info

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the wrapped model."""
        return await self._model.complete(request)

    def prepare_message(self, message: Message) -> None:
        """Have the wrapped model prepare a message if it does."""
        prepare = getattr(self._model, "prepare_message", None)
        if prepare is not None:
            prepare(message)

    async def aclose(self) -> None:
        """Close the wrapped model if it has an `aclose`."""
        close = getattr(self._model, "aclose", None)
        if close is not None:
            await close()


def override_info(model: Model, **fields: Any) -> Model:
    """Return the model with these fields of ModelInfo replaced; the model itself if nothing changes."""
    if "prices" in fields:
        fields.setdefault("cached_input_price", None)  # the model's own belongs to the model's own prices
    info = replace(model.info, **fields)
    if info.function_calling != ("function_calling" in info.capabilities) and "function_calling" in fields:
        names = info.capabilities - {"function_calling"}
        info = replace(info, capabilities=names | {"function_calling"} if info.function_calling else names)
    return model if info == model.info else ModelWithOverrides(model, info)
