"""Check of `sophon doctor` on the embedder; it asks no model."""

import importlib.util
from pathlib import Path

from sophon.composition.part_factories import needs_embedder
from sophon.extras import install_command
from sophon.models.embeddings.sentence_transformers_embedder import DEFAULT_MODEL, find_packaged_model
from sophon.settings import Settings
from sophon_hosting.programs.doctor.findings import DoctorFinding, ok, warning

MISSING = "so nothing is found by similarity"


def check_embedder(settings: Settings) -> DoctorFinding:
    """Name the embedder of the settings, and what a local one lacks."""
    embeddings = settings.embeddings
    if not needs_embedder(settings):
        return ok("embeddings", f"none: numpy is not installed, {MISSING}", install_command("vectors"))
    if embeddings.provider == "Hashing":
        return ok("embeddings", "Hashing, built in: compares words and their parts, and knows no meaning")
    if embeddings.provider != "SentenceTransformers":
        where = f" at {embeddings.base_url}" if embeddings.base_url is not None else ""
        return ok("embeddings", f"{embeddings.provider}: {embeddings.model}{where}")
    model = embeddings.model or DEFAULT_MODEL
    if importlib.util.find_spec("sentence_transformers") is None:
        text = f"SentenceTransformers is not installed, {MISSING}"
        return warning("embeddings", text, install_command("embeddings"))
    if embeddings.model is None and find_packaged_model(model) is None and not Path(model).is_dir():
        text = f"the package {model} is not installed, {MISSING}"
        return warning("embeddings", text, f"pip install {model}, or name another Embeddings.Model")
    return ok("embeddings", f"SentenceTransformers: {model}")
