"""Capabilities of a model by name: `code generation`, `Code-Generation` and `code_generation` are the same one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sophon._python.lazy_pattern import lazy_pattern
from sophon.models.gateway.provider import Candidate
from sophon.models.model import ModelInfo

FAST = "fast"
"""Capability of a model that answers small questions sooner or cheaper; votes go to it. Only settings declare it."""

FUNCTION_CALLING = "function_calling"
"""Capability that `ModelInfo.function_calling` states too."""

_IGNORED = lazy_pattern(r"[\s_-]+")

_DEMAND = lazy_pattern(
    r"\A\W*(?:requires?|requiring|needs?|needing|good[\s_-]at|with)\b[\s:_-]*(?:(?:a|an|strong|good|advanced)\b[\s_-]*)?"
    r"|[\s_-]+(?:capability|capabilities|skills?|abilit(?:y|ies))\W*\Z|\W+\Z",
    re.IGNORECASE,
)
"""Words around a capability in a hint such as `requires reasoning`."""

_CONJUNCTION = lazy_pattern(r"\s*(?:,|;|&|\+|\band\b)\s*", re.IGNORECASE)


def capability_key(name: str) -> str:
    """Return the form in which names are compared: case, white space, dashes and underscores are ignored."""
    return _IGNORED.sub("", name).casefold()


def has_capability(info: ModelInfo, name: str) -> bool:
    """Return whether the model has the capability, in any spelling; of a phrase, such as `requires vision and
    reasoning`, whether it has each.
    """
    known = {capability_key(each) for each in info.capabilities}
    if capability_key(name) in known:
        return True
    wanted = {capability_key(each) for each in _CONJUNCTION.split(_DEMAND.sub("", name))} - {""}
    return bool(wanted) and wanted <= known


def declare_capabilities(info: ModelInfo, declared: Iterable[str], *, function_calling: bool | None) -> ModelInfo:
    """Return the facts with the declared capabilities beside the known ones, each in one spelling.

    A declared `function calling` means native tool calls, unless `function_calling` states the opposite.
    """
    spelled = {capability_key(name): name.strip() for name in declared}
    if not spelled:
        return info
    native = capability_key(FUNCTION_CALLING)
    able = (info.function_calling or native in spelled) if function_calling is None else function_calling
    spelled |= {capability_key(name): name for name in (*info.capabilities, FUNCTION_CALLING)}
    if not able:
        del spelled[native]
    return replace(info, function_calling=able, capabilities=frozenset(spelled.values()))


def find_capable(name: str, candidate: Candidate) -> Candidate | None:
    """Return the first model of the candidate's provider that has the capability, or None."""
    for model in candidate.provider.models:
        if has_capability(model.info, name):
            return Candidate(candidate.provider, model)
    return None


def find_fast(route: Sequence[Candidate]) -> Candidate | None:
    """Return the first fast model of the route's providers, or None."""
    return next((found for candidate in route if (found := find_capable(FAST, candidate)) is not None), None)


def fast_first(route: Sequence[Candidate]) -> list[Candidate]:
    """Return the route with the first fast model of its providers in front; unchanged if there is none."""
    fast = find_fast(route)
    if fast is None:
        return list(route)
    return [fast, *(candidate for candidate in route if candidate.model is not fast.model)]
