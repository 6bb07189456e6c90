// Arguments of a trial on the policy page.
import type { Arguments } from "../../model/form-fields";
import { t } from "../../text/translate";
import type { ToolAccessView } from "../../wire/types";

/** What happens to a call by its risk: it runs, a person is asked, or an operator is. */
export type ToolAccess = ToolAccessView["access"];

/** Returns the arguments of a call, or what is wrong with the text. */
export function parseTrialArguments(text: string): Arguments | string {
  let value: unknown;
  try {
    value = text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return t("The arguments are not valid JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return t("The arguments must be a JSON object, such as {example}.", { example: '{"path": "notes.txt"}' });
  return value as Arguments;
}
