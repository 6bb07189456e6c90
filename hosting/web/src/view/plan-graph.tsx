// A plan as a graph from left to right, with the dependencies and the status of each step.
import type { JSX } from "preact";
import type { StepState } from "../model/turn-reducer";
import type { PlanDetail, PlanStepDetail } from "../wire/types";
import { toOneLine } from "../text/escape-controls";
import { t } from "../text/translate";
import { Icon, type IconName } from "./icons";
import { riskLabel, stateLabel } from "../text/state-labels";

const WIDTH = 228;
const HEIGHT = 76;
const GAP_X = 36;
const GAP_Y = 14;
const ICONS: Record<string, IconName> = { running: "clock", completed: "check", failed: "cross", skipped: "dash", cancelled: "dash" };

export function PlanGraph({ plan, steps }: { plan: PlanDetail; steps: Record<string, StepState> }): JSX.Element {
  const positions = layoutSteps(plan.steps);
  const columns = 1 + Math.max(0, ...[...positions.values()].map(({ column }) => column));
  const rows = 1 + Math.max(0, ...[...positions.values()].map(({ row }) => row));
  const width = columns * (WIDTH + GAP_X) - GAP_X;
  const height = rows * (HEIGHT + GAP_Y);
  const done = plan.steps.filter((step) => steps[step.id]?.status === "completed").length;
  return (
    <div class="plan" role="group" aria-label={t("Plan")}>
      <header>
        <h3>{t("Plan")}</h3>
        <span>{toOneLine(plan.goal, 160)}</span>
        <span class="done">
          {t("{done} of {count} done", { done, count: plan.steps.length })}
        </span>
      </header>
      <div class="graph" tabIndex={0} role="group" aria-label={t("Steps of the plan")}>
        <div class="sheet" style={{ width: `${width}px`, height: `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true">
            <defs>
              <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path class="arrow" d="M0 0L8 4L0 8Z" />
              </marker>
            </defs>
            {plan.steps.flatMap((step) =>
              step.depends_on.map((dependency) => {
                const from = positions.get(dependency);
                const to = positions.get(step.id);
                return from && to ? <path key={`${dependency}>${step.id}`} d={edgePath(from, to)} marker-end="url(#arrow)" /> : null;
              }),
            )}
          </svg>
          <ol>
            {plan.steps.map((step) => (
              <Step key={step.id} step={step} state={steps[step.id]} place={positions.get(step.id)!} />
            ))}
          </ol>
        </div>
      </div>
      <Reasons plan={plan} steps={steps} />
    </div>
  );
}

interface GridPosition {
  column: number;
  row: number;
}

function Step({ step, state, place }: { step: PlanStepDetail; state: StepState | undefined; place: GridPosition }): JSX.Element {
  const status = state?.status ?? "pending";
  const after = step.depends_on.length > 0 ? t(", after {steps}", { steps: step.depends_on.join(", ") }) : "";
  const icon = ICONS[status];
  return (
    <li
      class={status}
      style={{ left: `${place.column * (WIDTH + GAP_X)}px`, top: `${place.row * (HEIGHT + GAP_Y)}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
      title={step.description}
      aria-label={`${toOneLine(step.description)}: ${stateLabel(status)}${after}`}
    >
      <span class="step-text">{toOneLine(step.description, 90)}</span>
      <span class="step-state">
        {icon !== undefined && <Icon name={icon} />}
        {stateLabel(status)}
        {hasElevatedRisk(step) && <span class={`risk ${step.estimated_risk}`}>{riskLabel(step.estimated_risk ?? "")}</span>}
      </span>
    </li>
  );
}

function Reasons({ plan, steps }: { plan: PlanDetail; steps: Record<string, StepState> }): JSX.Element | null {
  const stepsWithReason = plan.steps.filter((step) => steps[step.id]?.reason);
  if (stepsWithReason.length === 0) return null;
  return (
    <ul class="reasons">
      {stepsWithReason.map((step) => (
        <li key={step.id}>
          <strong>{toOneLine(step.description, 80)}</strong> {stateLabel(steps[step.id]?.status ?? "")}: {toOneLine(steps[step.id]?.reason ?? "", 300)}
        </li>
      ))}
    </ul>
  );
}

function hasElevatedRisk(step: PlanStepDetail): boolean {
  return step.estimated_risk === "medium" || step.estimated_risk === "high" || step.estimated_risk === "critical";
}

/** Places each step one column after its last dependency; rows fill from top to bottom. */
function layoutSteps(steps: PlanStepDetail[]): Map<string, GridPosition> {
  const columns = new Map<string, number>();
  const known = new Set(steps.map((step) => step.id));
  // A plan has no cycles; the bound prevents an endless loop if a received plan has one.
  for (let round = 0; round < steps.length; round++) {
    for (const step of steps) {
      const dependencies = step.depends_on.filter((id) => known.has(id)).map((id) => columns.get(id) ?? 0);
      columns.set(step.id, dependencies.length === 0 ? 0 : 1 + Math.max(...dependencies));
    }
  }
  const filled = new Map<number, number>();
  const places = new Map<string, GridPosition>();
  for (const step of steps) {
    const column = Math.min(columns.get(step.id) ?? 0, steps.length - 1);
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    places.set(step.id, { column, row });
  }
  return places;
}

/** A curve to the next column; to a later one, a line through the gap between the rows, so that it crosses no box. */
function edgePath(from: GridPosition, to: GridPosition): string {
  const x1 = from.column * (WIDTH + GAP_X) + WIDTH;
  const y1 = from.row * (HEIGHT + GAP_Y) + HEIGHT / 2;
  const x2 = to.column * (WIDTH + GAP_X);
  const y2 = to.row * (HEIGHT + GAP_Y) + HEIGHT / 2;
  if (to.column - from.column > 1) {
    const lane = (from.row + (to.row < from.row ? 0 : 1)) * (HEIGHT + GAP_Y) - GAP_Y / 2;
    return `M${x1} ${y1}H${x1 + GAP_X / 3}V${Math.max(lane, 1)}H${x2 - GAP_X / 2}V${y2}H${x2}`;
  }
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
