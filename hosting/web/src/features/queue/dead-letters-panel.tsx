// Dead letters, for operators: failed tasks and undelivered messages to chats, each with a button that retries it.
import { useEffect, useState } from "preact/hooks";
import type { JSX } from "preact";
import { currentUser } from "../../model/app-state";
import { loadDeadLetters, retryDeadLetter } from "../../model/operator-actions";
import { describeDeadLetter } from "./dead-letter";
import { toOneLine } from "../../text/escape-controls";
import { t } from "../../text/translate";
import type { DeadLetter } from "../../model/operator-actions";
import { ActionButton } from "../../view/controls";

export function DeadLettersPanel(): JSX.Element | null {
  const [letters, setLetters] = useState<readonly DeadLetter[]>([]);
  const isOperator = currentUser.value?.operator === true;
  const refresh = async (): Promise<void> => setLetters(await loadDeadLetters());
  useEffect(() => {
    if (isOperator) void refresh();
  }, [isOperator]);
  if (letters.length === 0) return null;
  const retry = async (id: string): Promise<void> => {
    await retryDeadLetter(id);
    await refresh();
  };
  return (
    <>
      <h3>{t("Dead letters")}</h3>
      <p class="hint">{t("Tasks that failed too often, and messages that could not be delivered.")}</p>
      <table class="plain" aria-label={t("Dead letters")}>
        <tbody>
          {letters.map((each) => (
            <tr key={each.id}>
              <th scope="row">{toOneLine(each.id, 60)}</th>
              <td>
                {describeDeadLetter(each).map((line, index) => (
                  <p key={line} class={index === 0 ? undefined : "hint"}>
                    {line}
                  </p>
                ))}
              </td>
              <td>
                <ActionButton label={t("Retry {id}", { id: toOneLine(each.id, 60) })} action={() => retry(each.id)}>
                  {t("Retry")}
                </ActionButton>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
