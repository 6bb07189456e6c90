"""The lines shown when an interactive chat starts."""

from sophon._version import __version__
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.programs.chat.local_chat import LocalChat
from sophon_hosting.rendering.value_formatting import format_count

OFFLINE_NOTICE = "Offline model. For a real one: OPENAI_API_KEY, ANTHROPIC_API_KEY or Ollama."
GOALS_NOTICE = "Goals that are made here are worked on while a host runs: sophon serve"
UNFINISHED_TURN_NOTICE = "The last turn was interrupted before its answer. Send it again, or continue."


def welcome_lines(chat: LocalChat) -> list[str]:
    """Return the lines shown when an interactive chat starts: version, model, session, basic commands, notices."""
    candidates = chat.services.gateway.candidates()
    model = chat.choices.model or (candidates[0].info.id if candidates else "no model")
    count = chat.count_messages()
    session = f"session {chat.choices.session}, {format_count(count, 'message') if count else 'new'}"
    return [
        f"Sophon {__version__} · {model} · {session}",
        "/help lists the commands, Ctrl-C cancels the turn, /quit ends the chat.",
        *new_session_notices(chat),
        *([UNFINISHED_TURN_NOTICE] if chat.is_last_turn_unfinished() else []),
    ]


def new_session_notices(chat: LocalChat) -> list[str]:
    """Return the notices of a new session: how to configure a model if only the offline model can answer, and what
    works on goals.
    """
    if chat.count_messages():
        return []
    ids = {candidate.info.provider for candidate in chat.services.gateway.candidates()}
    offline = [OFFLINE_NOTICE] if ids == {"offline"} else []
    return [*offline, GOALS_NOTICE] if chat.services.settings.section(GoalsSettings).enabled else offline
