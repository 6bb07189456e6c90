// Form fields for a tool's arguments, built from the JSON Schema of its parameters, and parsing of the form back to JSON.
import { t } from "../text/translate";

export type Arguments = Record<string, unknown>;

/** What the form reads of a JSON Schema. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  anyOf?: JsonSchema[];
}

export type FieldKind = "text" | "long" | "number" | "boolean" | "choice" | "json";

export interface Field {
  name: string;
  kind: FieldKind;
  required: boolean;
  description: string;
  choices: string[];
  integer: boolean;
}

/** Returns a field for each parameter, and for each argument that the schema lacks. */
export function buildFields(schema: JsonSchema | undefined, given: Arguments): Field[] {
  const properties = schema?.properties ?? {};
  const names = [...Object.keys(properties), ...Object.keys(given).filter((name) => !(name in properties))];
  return names.map((name) => buildField(name, properties[name] ?? {}, schema?.required?.includes(name) ?? false, given[name]));
}

/** The initial text of a field. */
export function fieldText(field: Field, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (field.kind === "json" || typeof value === "object") return JSON.stringify(value, null, 2);
  return String(value);
}

/** Returns the arguments, or an error message. */
export function parseForm(fields: Field[], texts: Record<string, string>, given: Arguments): Arguments | string {
  const read: Arguments = {};
  for (const field of fields) {
    const text = texts[field.name] ?? "";
    if (text === "" && field.kind !== "text" && field.kind !== "long") {
      if (field.required) return t("{name} is required", { name: field.name });
      continue;
    }
    if (text === "" && !field.required && !(field.name in given)) continue;
    const value = parseFieldValue(field, text);
    if (typeof value === "object" && value !== null && "problem" in value) return `${field.name}: ${String(value.problem)}`;
    read[field.name] = value;
  }
  return read;
}

/** Parses the arguments from JSON text; returns an error message if it is invalid. */
export function parseJsonArguments(text: string): Arguments | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Arguments;
    return t("The arguments must be an object: {…}");
  } catch (error) {
    return t("Not valid JSON: {problem}", { problem: error instanceof Error ? error.message : String(error) });
  }
}

function buildField(name: string, schema: JsonSchema, required: boolean, value: unknown): Field {
  const variants = schema.anyOf?.filter((each) => each.type !== "null") ?? [];
  const effective = variants.length === 1 ? { ...schema, ...variants[0] } : schema;
  const types = [effective.type ?? jsonType(value)].flat().filter((type) => type !== "null");
  return {
    name,
    kind: fieldKind(effective, types, value),
    required,
    description: schema.description ?? "",
    choices: (effective.enum ?? []).filter((choice): choice is string => typeof choice === "string"),
    integer: types[0] === "integer",
  };
}

function fieldKind(schema: JsonSchema, types: string[], value: unknown): FieldKind {
  if (schema.enum?.every((choice) => typeof choice === "string")) return "choice";
  if (types.length !== 1) return "json";
  if (types[0] === "boolean") return "boolean";
  if (types[0] === "integer" || types[0] === "number") return "number";
  if (types[0] !== "string") return "json";
  return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
}

function jsonType(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? typeof value : "object";
}

function parseFieldValue(field: Field, text: string): unknown {
  switch (field.kind) {
    case "number": {
      const value = Number(text);
      if (!Number.isFinite(value)) return { problem: t("not a number") };
      return field.integer && !Number.isInteger(value) ? { problem: t("not a whole number") } : value;
    }
    case "boolean":
      return text === "true";
    case "json":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return { problem: t("not valid JSON") };
      }
    default:
      return text;
  }
}
