// The model's reasoning about one reply: collapsed, because it is no part of the answer.
import type { JSX } from "preact";
import type { ReasoningItem } from "../model/turn-reducer";
import { escapeControls } from "../text/escape-controls";
import { t } from "../text/translate";
import { Disclosure } from "./controls";

export function Reasoning({ item }: { item: ReasoningItem }): JSX.Element {
  return (
    <Disclosure class="reasoning" summary={<span>{item.isOpen ? t("Reasoning …") : t("Reasoning")}</span>}>
      {() => (
        <pre tabIndex={0} role="region" aria-label={t("Reasoning")}>
          {escapeControls(item.text)}
        </pre>
      )}
    </Disclosure>
  );
}
