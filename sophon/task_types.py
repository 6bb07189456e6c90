"""Task types of messages, and the measures of their complexity: names that settings and classification share."""

from typing import Final, Literal, TypeAlias, get_args

TaskType: TypeAlias = Literal["code_generation", "code_review", "research", "creative", "analysis", "tool_use", "chat"]

TASK_TYPES: Final[tuple[TaskType, ...]] = get_args(TaskType)

ComplexityMeasure: TypeAlias = Literal["Prompt", "Keywords", "Factors"]
"""`Prompt`: words, code fences and words of reasoning; `Keywords`: keywords per word; `Factors`: the seven factors."""
