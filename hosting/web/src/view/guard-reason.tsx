// Why a guard blocks a call or asks about it: a sentence, and the rule that decided.
import type { JSX } from "preact";
import { toOneLine } from "../text/escape-controls";
import { t } from "../text/translate";

export function GuardReason({ guard, verb, reason, rule }: { guard: string; verb: string; reason: string; rule: string }): JSX.Element {
  return (
    <>
      <strong>
        {toOneLine(guard, 40)} {verb}:
      </strong>{" "}
      <span lang="en">{toOneLine(reason, 300)}</span>{" "}
      <code class="rule" title={t("The rule that decided")}>
        {toOneLine(rule, 80)}
      </code>
    </>
  );
}
