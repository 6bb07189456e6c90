"""Plans: complexity heuristic, dependency graph, parsing, prompts, and progress of execution."""

from sophon.plans.complexity_heuristic import heuristic_score
from sophon.plans.parsing import MAX_STEPS, parse_plan
from sophon.plans.plan import Plan, PlanStep
from sophon.plans.prompts import parse_vote, plan_prompt, reask_prompt, step_prompt, synthesis_prompt, vote_prompt
from sophon.plans.step_progress import PlanProgress, PlanStepStatus, SkippedStep, StepState

__all__ = [
    "MAX_STEPS",
    "Plan",
    "PlanProgress",
    "PlanStep",
    "PlanStepStatus",
    "SkippedStep",
    "StepState",
    "heuristic_score",
    "parse_plan",
    "parse_vote",
    "plan_prompt",
    "reask_prompt",
    "step_prompt",
    "synthesis_prompt",
    "vote_prompt",
]
