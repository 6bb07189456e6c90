// A plan as a graph from left to right, with the dependencies and the status of each step.
import type { JSX } from "preact";
import type { StepState } from "../model/turn-reducer";
import type { PlanInfo, PlanStep } from "../wire/protocol";
import { toOneLine } from "../text/escape-controls";
import { Icon, type IconName } from "./icons";

const WIDTH = 190;
const HEIGHT = 76;
const GAP_X = 36;
const GAP_Y = 14;
const ICONS: Record<string, IconName> = { running: "clock", completed: "check", failed: "cross", skipped: "dash", cancelled: "dash" };

export function PlanGraph({ plan, steps }: { plan: PlanInfo; steps: Record<string, StepState> }): JSX.Element {
  const positions = layoutSteps(plan.steps);
  const columns = 1 + Math.max(0, ...[...positions.values()].map(({ column }) => column));
  const rows = 1 + Math.max(0, ...[...positions.values()].map(({ row }) => row));
  const width = columns * (WIDTH + GAP_X) - GAP_X;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y;
  const done = plan.steps.filter((step) => steps[step.id]?.status === "completed").length;
  return (
    <section class="plan" aria-label="Plan">
      <header>
        <h2>Plan</h2>
        <span>{toOneLine(plan.goal, 160)}</span>
        <span class="done">
          {done} of {plan.steps.length} done
        </span>
      </header>
      <div class="graph" tabIndex={0} role="region" aria-label="Steps of the plan">
        <div class="sheet" style={{ width: `${width}px`, height: `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true">
            {plan.steps.flatMap((step) =>
              step.depends_on.map((dependency) => {
                const from = positions.get(dependency);
                const to = positions.get(step.id);
                return from && to ? <path key={`${dependency}>${step.id}`} d={edgePath(from, to)} /> : null;
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
    </section>
  );
}

interface GridPosition {
  column: number;
  row: number;
}

function Step({ step, state, place }: { step: PlanStep; state: StepState | undefined; place: GridPosition }): JSX.Element {
  const status = state?.status ?? "pending";
  const after = step.depends_on.length > 0 ? `, after ${step.depends_on.join(", ")}` : "";
  const icon = ICONS[status];
  return (
    <li
      class={status}
      style={{ left: `${place.column * (WIDTH + GAP_X)}px`, top: `${place.row * (HEIGHT + GAP_Y)}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
      title={step.description}
      aria-label={`${toOneLine(step.description)}: ${status}${after}`}
    >
      <span class="step-text">{toOneLine(step.description, 90)}</span>
      <span class="step-state">
        {icon !== undefined && <Icon name={icon} />}
        {status}
        {hasElevatedRisk(step) && <span class={`risk ${step.estimated_risk}`}>{step.estimated_risk} risk</span>}
      </span>
    </li>
  );
}

function Reasons({ plan, steps }: { plan: PlanInfo; steps: Record<string, StepState> }): JSX.Element | null {
  const stepsWithReason = plan.steps.filter((step) => steps[step.id]?.reason);
  if (stepsWithReason.length === 0) return null;
  return (
    <ul class="reasons">
      {stepsWithReason.map((step) => (
        <li key={step.id}>
          <strong>{toOneLine(step.description, 80)}</strong> {steps[step.id]?.status}: {toOneLine(steps[step.id]?.reason ?? "", 300)}
        </li>
      ))}
    </ul>
  );
}

function hasElevatedRisk(step: PlanStep): boolean {
  return step.estimated_risk === "medium" || step.estimated_risk === "high" || step.estimated_risk === "critical";
}

/** Places each step one column after its last dependency; rows fill from top to bottom. */
function layoutSteps(steps: PlanStep[]): Map<string, GridPosition> {
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

function edgePath(from: GridPosition, to: GridPosition): string {
  const x1 = from.column * (WIDTH + GAP_X) + WIDTH;
  const y1 = from.row * (HEIGHT + GAP_Y) + HEIGHT / 2;
  const x2 = to.column * (WIDTH + GAP_X);
  const y2 = to.row * (HEIGHT + GAP_Y) + HEIGHT / 2;
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
