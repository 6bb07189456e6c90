"""Plans: complexity heuristic, dependency graph, parsing, prompts, and progress of execution."""

from sophon.plans.heuristic import heuristic_score
from sophon.plans.parsing import MAX_STEPS, parse_plan
from sophon.plans.plan import Plan, PlanStep
from sophon.plans.progress import PlanProgress, SkippedStep, StepState, PlanStepStatus
from sophon.plans.prompts import parse_vote, plan_prompt, reask_prompt, step_prompt, synthesis_prompt, vote_prompt

__all__ = [
    "MAX_STEPS",
    "Plan",
    "PlanProgress",
    "PlanStep",
    "SkippedStep",
    "StepState",
    "PlanStepStatus",
    "heuristic_score",
    "parse_plan",
    "parse_vote",
    "plan_prompt",
    "reask_prompt",
    "step_prompt",
    "synthesis_prompt",
    "vote_prompt",
]
