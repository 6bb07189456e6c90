"""Checks of `sophon doctor` on the model providers: their keys, their health, and what their models can do."""

from collections.abc import Iterator, Mapping

from sophon.models.capabilities import FAST, find_fast
from sophon.models.providers.provider_factory import select_providers
from sophon.models.providers.provider_types import OFFLINE
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning

REAL_MODEL_HINT = "for a real model set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama; see docs/models.md"


def check_provider_keys(settings: Settings, environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Check that every API key of an active provider can be resolved."""
    for provider in settings.providers:
        for key in provider.keys if provider.active else ():
            where = f"key of {provider.id} from {key.source_description}"
            if key.resolve(environment):
                yield ok("keys", f"{where}: present")
            else:
                yield failed("keys", f"{where}: missing or empty", f"set it, or remove {provider.id}")


def check_providers(services: Services, environment: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """List the providers in order of preference, with the reason for each and its health."""
    reasons = {each.provider_id: each.reason for each in select_providers(services.settings, environment)}
    now = services.clock.monotonic()
    for provider in services.gateway.providers:
        models = ", ".join(model.info.name for model in provider.models)
        text = f"{provider.id} ({models}): {reasons.get(provider.id, 'created by the program')}"
        if provider.health(now) != "active":
            yield warning("providers", f"{text}; {provider.health(now)}", "it receives no requests for now")
        else:
            yield ok("providers", text, fix=REAL_MODEL_HINT if provider.id == OFFLINE else "")


def check_capabilities(services: Services) -> DoctorFinding:
    """List the capabilities that hints of plan steps can ask for, and the model that votes."""
    infos = [model.info for provider in services.gateway.providers for model in provider.models]
    known = [f"{info.name}: {', '.join(sorted(info.capabilities)) or 'none'}" for info in infos]
    fast = find_fast(services.gateway.candidates())
    votes = f"votes go to {fast.info.id}" if fast else f"no model is {FAST!r}, so votes go to the turn's own model"
    return ok("capabilities", f"{'; '.join(known)}; {votes}")
