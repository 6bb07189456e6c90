"""Parts of a request body that adapters with an API of their own have in common."""

import orjson

from sophon.messages import ToolCall
from sophon.models.model import ModelRequest


def arguments_to_json(call: ToolCall) -> orjson.Fragment:
    """Return the arguments of a call as a JSON object; an empty one for what JSON cannot express."""
    arguments = call.canonical_arguments()
    # What cannot be expressed was converted to a text in another notation.
    return orjson.Fragment(arguments if arguments[:2] in (b'{"', b"{}") else b"{}")


def limit_output(request: ModelRequest) -> int:
    """Return the output limit of a request, at most the model's maximum: some providers reject a larger one."""
    most = request.model.max_output_tokens
    return request.max_tokens if most is None else min(request.max_tokens, most)
