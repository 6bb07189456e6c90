"""Similarity of the rounds of a conversation to its question, by the embedder of the services."""

from collections.abc import Sequence
from typing import Final

from sophon.context import Context
from sophon.errors import SophonError
from sophon.messages import Message
from sophon_middlewares.outer.context_window.context_assembly import list_round_texts
from sophon_middlewares.outer.context_window.conversation_cut_points import find_last_user_message

MAX_ROUNDS: Final = 500
"""Newest rounds that are embedded; older ones count as not similar."""


async def find_similarities(ctx: Context, messages: Sequence[Message]) -> dict[int, float] | None:
    """Return the cosine similarity of each round to the last message of the user, by the index of its first message.

    None without an embedder, a question, or an answer of the embedder, whose failure is logged by itself.
    """
    embedder, question = ctx.services.learning.embedder, find_last_user_message(messages)
    if embedder is None or question is None:
        return None
    import numpy as np  # lazy: few hosts compare vectors

    texts = dict(list(list_round_texts(messages).items())[-MAX_ROUNDS:])
    try:
        asked, *vectors = await embedder.embed([messages[question].content, *texts.values()])
    except SophonError:
        return None
    matrix = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(matrix, axis=1) * float(np.linalg.norm(np.asarray(asked, dtype=np.float32)))
    products = matrix @ np.asarray(asked, dtype=np.float32)
    similar = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return dict(zip(texts, similar.tolist(), strict=True))
