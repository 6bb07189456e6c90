"""Settings sections of embeddings and learning. Source of the defaults: clawft, where nothing else is said."""

from collections.abc import Iterator
from typing import Annotated, Literal

from sophon.settings.types.field_types import CaseInsensitive, FiniteNumber, Flag, WebUrl, WholeNumber
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection

EmbeddingProvider = Annotated[
    Literal["Hashing", "OpenAi", "LiteLlm", "Ollama", "SentenceTransformers"], CaseInsensitive()
]
ScorerName = Annotated[Literal["Noop", "Fitness", "Heuristic", "Evaluator"], CaseInsensitive()]


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

    @property
    def provider_id(self) -> str | None:
        """The id by which its calls are metered; None for an embedder that runs in this process."""
        return find_embedding_provider_id(self.provider, self.model)

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict if the provider needs a model and has none."""
        if self.model is None and self.provider not in ("Hashing", "SentenceTransformers"):
            yield "Model", f"name an embedding model: the provider {self.provider} has no default"


class EvaluatorSettings(SettingsSection):
    """Which answers a model judges, and which model."""

    model: str | None = Field(
        default=None, min_length=1, description="Model, as `provider/model`; null: the one of the lowest Priority."
    )
    share: FiniteNumber = Field(default=0.1, ge=0, le=1, description="Share of the answers that are judged.")
    daily_budget: WholeNumber = Field(default=100, ge=0, description="Judgements a day, of all sessions.")


class LearningSettings(SettingsSection):
    """What is kept of finished turns, so that routing and people can learn from them."""

    enabled: Flag | None = Field(
        default=None,
        description="true: every chain scores its turns and keeps trajectories. null: chains with these stages, such "
        "as clawft, and all where Routing.Strategy is Intelligent or CostAware. false: none does. Conversations off "
        "the record never do.",
    )
    scorer: ScorerName = Field(
        default="Heuristic",
        description="Heuristic: faults that the form of an answer shows, such as a refusal; otherwise no opinion. "
        "Evaluator: the same, and a model judges some answers after their turn, on a host. Fitness (the published "
        "formula) and Noop (1.0 for every reply) are shown, and routing learns nothing from them.",
    )
    evaluator: EvaluatorSettings = Field(
        default_factory=EvaluatorSettings.defaults, description="The model that judges answers, with Scorer Evaluator."
    )
    days: WholeNumber | None = Field(
        default=90, ge=1, description="Days that trajectories are kept; null: until there are newer ones."
    )
