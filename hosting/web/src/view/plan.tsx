// A plan as a graph from left to right: what must be done before what, and how far each step is.
import type { JSX } from "preact";
import type { StepState } from "../model/turn";
import type { PlanInfo, PlanStep } from "../wire/protocol";
import { onOneLine } from "../text/visible";
import { Icon, type IconName } from "./icons";

const WIDTH = 190;
const HEIGHT = 76;
const GAP_X = 36;
const GAP_Y = 14;
const ICONS: Record<string, IconName> = { running: "clock", completed: "check", failed: "cross", skipped: "dash", cancelled: "dash" };

export function Plan({ plan, steps }: { plan: PlanInfo; steps: Record<string, StepState> }): JSX.Element {
  const places = placed(plan.steps);
  const columns = 1 + Math.max(0, ...[...places.values()].map(({ column }) => column));
  const rows = 1 + Math.max(0, ...[...places.values()].map(({ row }) => row));
  const width = columns * (WIDTH + GAP_X) - GAP_X;
  const height = rows * (HEIGHT + GAP_Y) - GAP_Y;
  const done = plan.steps.filter((step) => steps[step.id]?.status === "completed").length;
  return (
    <section class="plan" aria-label="Plan">
      <header>
        <h2>Plan</h2>
        <span>{onOneLine(plan.goal, 160)}</span>
        <span class="done">
          {done} of {plan.steps.length} done
        </span>
      </header>
      <div class="graph" tabIndex={0} role="region" aria-label="Steps of the plan">
        <div class="sheet" style={{ width: `${width}px`, height: `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true">
            {plan.steps.flatMap((step) =>
              step.depends_on.map((before) => {
                const from = places.get(before);
                const to = places.get(step.id);
                return from && to ? <path key={`${before}>${step.id}`} d={curve(from, to)} /> : null;
              }),
            )}
          </svg>
          <ol>
            {plan.steps.map((step) => (
              <Step key={step.id} step={step} state={steps[step.id]} place={places.get(step.id)!} />
            ))}
          </ol>
        </div>
      </div>
      <Reasons plan={plan} steps={steps} />
    </section>
  );
}

interface Place {
  column: number;
  row: number;
}

function Step({ step, state, place }: { step: PlanStep; state: StepState | undefined; place: Place }): JSX.Element {
  const status = state?.status ?? "pending";
  const after = step.depends_on.length > 0 ? `, after ${step.depends_on.join(", ")}` : "";
  const icon = ICONS[status];
  return (
    <li
      class={status}
      style={{ left: `${place.column * (WIDTH + GAP_X)}px`, top: `${place.row * (HEIGHT + GAP_Y)}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
      title={step.description}
      aria-label={`${onOneLine(step.description)}: ${status}${after}`}
    >
      <span class="step-text">{onOneLine(step.description, 90)}</span>
      <span class="step-state">
        {icon !== undefined && <Icon name={icon} />}
        {status}
        {risky(step) && <span class={`risk ${step.estimated_risk}`}>{step.estimated_risk} risk</span>}
      </span>
    </li>
  );
}

function Reasons({ plan, steps }: { plan: PlanInfo; steps: Record<string, StepState> }): JSX.Element | null {
  const told = plan.steps.filter((step) => steps[step.id]?.reason);
  if (told.length === 0) return null;
  return (
    <ul class="reasons">
      {told.map((step) => (
        <li key={step.id}>
          <strong>{onOneLine(step.description, 80)}</strong> {steps[step.id]?.status}: {onOneLine(steps[step.id]?.reason ?? "", 300)}
        </li>
      ))}
    </ul>
  );
}

function risky(step: PlanStep): boolean {
  return step.estimated_risk === "medium" || step.estimated_risk === "high" || step.estimated_risk === "critical";
}

/** Each step one column behind the last that it depends on; in a column from top to bottom. */
function placed(steps: PlanStep[]): Map<string, Place> {
  const columns = new Map<string, number>();
  const known = new Set(steps.map((step) => step.id));
  // A plan has no circles; the bound keeps a page alive that is told otherwise.
  for (let round = 0; round < steps.length; round++) {
    for (const step of steps) {
      const before = step.depends_on.filter((id) => known.has(id)).map((id) => columns.get(id) ?? 0);
      columns.set(step.id, before.length === 0 ? 0 : 1 + Math.max(...before));
    }
  }
  const filled = new Map<number, number>();
  const places = new Map<string, Place>();
  for (const step of steps) {
    const column = Math.min(columns.get(step.id) ?? 0, steps.length - 1);
    const row = filled.get(column) ?? 0;
    filled.set(column, row + 1);
    places.set(step.id, { column, row });
  }
  return places;
}

function curve(from: Place, to: Place): string {
  const x1 = from.column * (WIDTH + GAP_X) + WIDTH;
  const y1 = from.row * (HEIGHT + GAP_Y) + HEIGHT / 2;
  const x2 = to.column * (WIDTH + GAP_X);
  const y2 = to.row * (HEIGHT + GAP_Y) + HEIGHT / 2;
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}
