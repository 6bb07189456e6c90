// Form to edit the arguments of a tool call before it runs, as fields or as JSON.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { JSX } from "preact";
import { tools } from "../model/app-state";
import { buildFields, parseForm, parseJsonArguments, fieldText, type Field } from "../model/form-fields";
import { escapeControls } from "../text/escape-controls";
import { t } from "../text/translate";
import type { Arguments } from "../model/form-fields";

export function ArgumentsForm(props: { tool: string; arguments: Arguments; onDone: (changed: Arguments) => void; onCancel: () => void }): JSX.Element {
  const fields = buildFields(tools.value.get(props.tool)?.parameters, props.arguments);
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(fields.map((field) => [field.name, fieldText(field, props.arguments[field.name])])));
  const [json, setJson] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus(), [json === null]);
  const switchMode = (): void => {
    const read = json === null ? parseForm(fields, texts, props.arguments) : parseJsonArguments(json);
    if (typeof read === "string") return setProblem(read);
    setProblem("");
    if (json === null) return setJson(JSON.stringify(read, null, 2));
    setTexts(Object.fromEntries(fields.map((field) => [field.name, fieldText(field, read[field.name])])));
    setJson(null);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const read = json === null ? parseForm(fields, texts, props.arguments) : parseJsonArguments(json);
    if (typeof read === "string") setProblem(read);
    else props.onDone(read);
  };
  return (
    <form class="arguments" onSubmit={submit} noValidate ref={form} onKeyDown={(event) => event.key === "Escape" && props.onCancel()}>
      {json === null ? (
        fields.map((field) => <FieldInput key={field.name} field={field} text={texts[field.name] ?? ""} onText={(text) => setTexts({ ...texts, [field.name]: text })} />)
      ) : (
        <label>
          {t("Arguments as JSON")}
          <textarea class="mono" rows={8} value={json} onInput={(event) => setJson(event.currentTarget.value)} />
        </label>
      )}
      {problem !== "" && <p class="problem" role="alert">{problem}</p>}
      <div class="buttons">
        <button type="submit" class="primary">{t("Run with these arguments")}</button>
        <button type="button" onClick={props.onCancel}>{t("Back")}</button>
        <button type="button" class="quiet" onClick={switchMode}>{json === null ? t("Edit as JSON") : t("Edit as a form")}</button>
      </div>
    </form>
  );
}

function FieldInput({ field, text, onText }: { field: Field; text: string; onText: (text: string) => void }): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {escapeControls(field.name)}
        {!field.required && <span class="hint"> {t("(optional)")}</span>}
      </label>
      {field.kind === "choice" || field.kind === "boolean" ? (
        <select id={id} value={text} onChange={(event) => onText(event.currentTarget.value)}>
          {!field.required && <option value="" />}
          {(field.kind === "boolean" ? ["true", "false"] : field.choices).map((choice) => (
            <option key={choice} value={choice}>{choice}</option>
          ))}
        </select>
      ) : field.kind === "long" || field.kind === "json" ? (
        <textarea id={id} class="mono" rows={4} value={text} onInput={(event) => onText(event.currentTarget.value)} />
      ) : (
        <input id={id} class="mono" inputMode={field.kind === "number" ? "decimal" : "text"} value={text} onInput={(event) => onText(event.currentTarget.value)} />
      )}
      {field.description !== "" && <p class="hint">{field.description}</p>}
    </div>
  );
}
