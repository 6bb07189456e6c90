"""Results of persons: what was deleted."""

from sophon._python.lazy_typed_dict import TypedDict


class ForgottenPerson(TypedDict):
    """Number of deleted things by kind, and the sessions of others, such as groups, where the person wrote."""

    deleted: dict[str, int]
    other_sessions: list[str]
