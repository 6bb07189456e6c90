"""Settings sections of embeddings and learning. Source of the defaults: clawft, where nothing else is said."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Literal

from sophon.settings.types.field_types import CaseInsensitive, Duration, FiniteNumber, Flag, WebUrl, WholeNumber
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection

EmbeddingProvider = Annotated[
    Literal["Hashing", "OpenAi", "LiteLlm", "Ollama", "SentenceTransformers"], CaseInsensitive()
]
ScorerName = Annotated[Literal["Noop", "Fitness", "Heuristic"], CaseInsensitive()]


def find_embedding_provider_id(provider: object, model: object) -> str | None:
    """Return the id by which the calls of an embedding model are metered; None for one that runs in this process."""
    if provider in ("Hashing", "SentenceTransformers", None):
        return None
    return str(model).partition("/")[0] if provider == "LiteLlm" else str(provider).lower()


class EmbeddingsSettings(SettingsSection):
    """The embedder: what turns texts into vectors, so that similar ones are found."""

    provider: EmbeddingProvider = Field(
        default="Hashing",
        description="Hashing: words and their parts, without a model, knows no meaning. OpenAi: OpenAI or a compatible "
        "server at BaseUrl. LiteLlm: any provider of litellm. Ollama. SentenceTransformers: a model in this process.",
    )
    model: str | None = Field(
        default=None,
        min_length=1,
        description="Name of the embedding model; of LiteLlm with the provider in front, as `voyage/voyage-3`.",
    )
    base_url: WebUrl | None = Field(default=None, description="URL of another API server.")
    key: Secret | None = Field(
        default=None, description="API key; null: OPENAI_API_KEY for OpenAi without BaseUrl, else none."
    )
    price: FiniteNumber | None = Field(
        default=None,
        ge=0,
        description="USD per million tokens, for Budget; null: from the tables of litellm, else Budget.DefaultPrices.",
    )
    dimensions: WholeNumber | None = Field(
        default=None,
        ge=1,
        le=16_384,
        description="Numbers of a vector; null: 384 for Hashing, else what the model has.",
    )
    timeout: Duration = Field(default=timedelta(seconds=30), description="Timeout of one request.")
    cache_entries: WholeNumber = Field(
        default=2048, ge=1, le=100_000, description="Texts whose vectors are kept in memory."
    )

    @property
    def provider_id(self) -> str | None:
        """The id by which its calls are metered; None for an embedder that runs in this process."""
        return find_embedding_provider_id(self.provider, self.model)

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict if the provider needs a model and has none."""
        if self.model is None and self.provider not in ("Hashing", "SentenceTransformers"):
            yield "Model", f"name an embedding model: the provider {self.provider} has no default"


class LearningSettings(SettingsSection):
    """What is kept of finished turns, so that routing and people can learn from them."""

    enabled: Flag | None = Field(
        default=None,
        description="true: every chain scores its turns and keeps trajectories. null: chains with these stages, such "
        "as clawft, and all where Routing.Strategy is Intelligent or CostAware. false: none does. Conversations off "
        "the record never do.",
    )
    scorer: ScorerName = Field(
        default="Fitness",
        description="Fitness: the published formula. Heuristic: five dimensions of form. Noop: 1.0 for every reply.",
    )
    max_trajectories: WholeNumber = Field(
        default=1000, ge=1, le=100_000, description="Trajectories that are kept; the oldest are dropped."
    )
    days: WholeNumber | None = Field(
        default=90, ge=1, description="Days that trajectories are kept; null: until there are newer ones."
    )
    max_text_characters: WholeNumber = Field(
        default=4000, ge=0, le=100_000, description="Characters of the request and of the reply that are kept of each."
    )
    poor_below: FiniteNumber = Field(default=0.6, ge=0, le=1, description="Quality below which a turn counts as poor.")
    good_from: FiniteNumber = Field(
        default=0.8, ge=0, le=1, description="Quality from which a turn counts as good, and its route is reused."
    )
    policy_neighbours: WholeNumber = Field(
        default=5, ge=1, le=100, description="Most similar earlier messages that are looked at."
    )
    max_policies: WholeNumber = Field(
        default=10_000, ge=1, le=1_000_000, description="Routes of earlier messages that are kept."
    )
    policy_expiry: Duration | None = Field(
        default=timedelta(days=30), description="Time after which the route of a message is not reused; null: never."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict if a turn could be poor and good."""
        if self.poor_below > self.good_from:
            yield "PoorBelow", f"{self.poor_below} is more than GoodFrom ({self.good_from})"
