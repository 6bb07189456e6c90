"""Features that a person may use in a chat: the permission level of who writes there decides, as for clients."""

from sophon.security.permission_levels import Feature
from sophon.services import Services
from sophon_channels.contract import InboundMessage
from sophon_hosting.channels.chat_state import ChatState


async def require_feature(services: Services, chat_state: ChatState, message: InboundMessage, feature: Feature) -> None:
    """Raise LevelNeeded if the level of the person who wrote a message, in its chat, has not a feature."""
    person, location = chat_state.user_id(message.person), message.location
    level = services.settings.permissions.level_of(
        person,
        channel=chat_state.channel_name,
        chat="" if location.kind == "direct" else await chat_state.data_owner(location, message.person),
        is_operator=services.operator_policy.is_operator(person),
    )
    services.settings.permissions.levels.require(level, feature)
