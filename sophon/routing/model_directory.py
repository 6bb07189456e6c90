"""Model directory: the models of the eligible providers by name, by alias, and filtered by allow and deny lists."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from sophon.models.gateway.provider import Candidate, Provider


class ModelDirectory:
    """Finds the models that routing may use; `allow` and `deny` are patterns of `provider/model` or of a model's name.

    An empty `allow` allows all; `deny` wins. Case does not count. An alias is resolved once, before a name is looked
    up, and patterns are compared with the model's own name, so that no alias is a way around them.
    """

    __slots__ = ("_allow", "_by_name", "_deny", "aliases", "providers")

    def __init__(
        self,
        providers: Sequence[Provider] = (),
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.providers = tuple(providers)
        self.aliases = dict(aliases or {})
        self._allow = [pattern.casefold() for pattern in allow]
        self._deny = [pattern.casefold() for pattern in deny]
        self._by_name: dict[str, Candidate] = {}
        every = [Candidate(provider, model) for provider in providers for model in provider.models]
        permitted = [candidate for candidate in every if self.permits(candidate)]
        for name_of in (_qualified_name, _model_name, _provider_id):
            for candidate in permitted:
                self._by_name.setdefault(name_of(candidate), candidate)

    def find(self, name: str) -> Candidate | None:
        """Return the model of a name: `provider/model`, a model's own name, a provider's id or an alias."""
        return self._by_name.get(self.aliases.get(name, name))

    def permits(self, candidate: Candidate) -> bool:
        """Return whether the lists permit a model."""
        names = (_qualified_name(candidate).casefold(), _model_name(candidate).casefold())
        if _matches(self._deny, names):
            return False
        return not self._allow or _matches(self._allow, names)

    def filter(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with each denied model replaced by its provider's first permitted one, if any."""
        if not self._allow and not self._deny:
            return list(candidates)
        found = (each if self.permits(each) else self._by_name.get(each.provider.id) for each in candidates)
        return remove_duplicates([each for each in found if each is not None])

    def all(self) -> list[Candidate]:
        """Return all permitted models, in the order of their providers."""
        return remove_duplicates(list(self._by_name.values()))


def remove_duplicates(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without repetitions, in their order."""
    return list({(id(each.provider), id(each.model)): each for each in candidates}.values())


def _matches(patterns: Sequence[str], names: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _qualified_name(candidate: Candidate) -> str:
    return f"{candidate.provider.id}/{candidate.model.info.name}"


def _model_name(candidate: Candidate) -> str:
    return candidate.model.info.name


def _provider_id(candidate: Candidate) -> str:
    return candidate.provider.id


NO_MODELS = ModelDirectory()
"""The directory of no provider, shared: a directory is never changed."""
