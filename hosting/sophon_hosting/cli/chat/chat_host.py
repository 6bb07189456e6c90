"""What a chat asks of a host beside its turns: preferences, skills, files, the last task."""

from collections.abc import Sequence

from sophon.attachments import Attachment
from sophon.preferences import PREFERENCE_NAMES, Preferences
from sophon_hosting.cli.remote.host_selection import connect_client
from sophon_hosting.features.attachments.operations import upload_attachment
from sophon_hosting.features.preferences.operations import get_preferences, replace_preferences
from sophon_hosting.features.preferences.results import UserPreferences
from sophon_hosting.features.tasks.operations import list_tasks
from sophon_hosting.features.tools.operations import list_skills
from sophon_hosting.features.tools.results import SkillView


class ChatHost:
    """A host, as the user of a token. The constructor raises SophonError if no host answers, or refuses the token."""

    def __init__(self, url: str, token: str | None) -> None:
        self._client = connect_client(url, token)

    def get_preferences(self) -> Preferences:
        """Return how the user wants to be answered."""
        return _parse(self._client.call(get_preferences))

    def set_preferences(self, preferences: Preferences) -> Preferences:
        """Replace the preferences and return what the host has stored."""
        return _parse(self._client.call(replace_preferences, **preferences.to_json()))

    def list_callable_skills(self) -> Sequence[SkillView]:
        """Return the skills that a person may call by `/name`."""
        return [each for each in self._client.call(list_skills)["items"] if each["enabled"] and each["callable"]]

    def find_last_task(self, session_id: str) -> str | None:
        """Return the id of the newest task of a session; None without one."""
        found = self._client.call(list_tasks, session_id=session_id, limit=1)["items"]
        return found[0]["task_id"] if found else None

    def upload_file(self, name: str, content: bytes) -> Attachment:
        """Store a file for a message."""
        return Attachment.from_json(self._client.call(upload_attachment, name=name, file=content)["attachment"])


def _parse(answer: UserPreferences) -> Preferences:
    # A newer host may know more of them.
    return Preferences.from_json(
        {name: value for name, value in answer["preferences"].items() if name in PREFERENCE_NAMES}
    )
