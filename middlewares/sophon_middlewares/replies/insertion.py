"""Insertion of the stages of a reply into any chain, where the settings want them."""

from sophon.chain.insertion import insert_in_front
from sophon.chain.pipeline import Pipeline
from sophon.settings.sections.replies import RepliesSettings
from sophon_middlewares.replies.action_announcer import ActionAnnouncer
from sophon_middlewares.replies.response_validator import ResponseValidator
from sophon_middlewares.replies.url_outcomes import UrlOutcomes


def add_reply_stages(chain: Pipeline, settings: RepliesSettings) -> Pipeline:
    """Return the chain with the enabled stages around its Planning, or its inner zone. Raises CompositionError."""
    # The innermost first: each is put in front of those that it must stand outside of.
    if settings.url_outcomes:
        chain = insert_in_front(chain, UrlOutcomes())
    if settings.validator.enabled:
        chain = insert_in_front(chain, ResponseValidator())
    if settings.announcer.enabled:
        chain = insert_in_front(chain, ActionAnnouncer())
    return chain
