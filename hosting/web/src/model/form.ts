// A form for a tool's arguments out of the JSON Schema of its parameters, and what is written in it back into JSON.
import type { Arguments, Schema } from "../wire/protocol";

export type FieldKind = "text" | "long" | "number" | "boolean" | "choice" | "json";

export interface Field {
  name: string;
  kind: FieldKind;
  required: boolean;
  description: string;
  choices: string[];
  whole: boolean;
}

/** A field for each parameter, and for each argument that the schema does not know. */
export function fieldsOf(schema: Schema | undefined, given: Arguments): Field[] {
  const properties = schema?.properties ?? {};
  const names = [...Object.keys(properties), ...Object.keys(given).filter((name) => !(name in properties))];
  return names.map((name) => fieldOf(name, properties[name] ?? {}, schema?.required?.includes(name) ?? false, given[name]));
}

/** What stands in a field at first. */
export function written(field: Field, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (field.kind === "json" || typeof value === "object") return JSON.stringify(value, null, 2);
  return String(value);
}

/** The arguments, or what is wrong with them. */
export function readForm(fields: Field[], texts: Record<string, string>, given: Arguments): Arguments | string {
  const read: Arguments = {};
  for (const field of fields) {
    const text = texts[field.name] ?? "";
    if (text === "" && field.kind !== "text" && field.kind !== "long") {
      if (field.required) return `${field.name} is needed`;
      continue;
    }
    if (text === "" && !field.required && !(field.name in given)) continue;
    const value = valueOf(field, text);
    if (typeof value === "object" && value !== null && "problem" in value) return `${field.name}: ${String(value.problem)}`;
    read[field.name] = value;
  }
  return read;
}

/** The arguments in a text of JSON, or what is wrong with it. */
export function readJson(text: string): Arguments | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Arguments;
    return "arguments are an object: {…}";
  } catch (error) {
    return `no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function fieldOf(name: string, schema: Schema, required: boolean, value: unknown): Field {
  const variants = schema.anyOf?.filter((each) => each.type !== "null") ?? [];
  const effective = variants.length === 1 ? { ...schema, ...variants[0] } : schema;
  const types = [effective.type ?? typeOf(value)].flat().filter((type) => type !== "null");
  return {
    name,
    kind: kindOf(effective, types, value),
    required,
    description: schema.description ?? "",
    choices: (effective.enum ?? []).filter((choice): choice is string => typeof choice === "string"),
    whole: types[0] === "integer",
  };
}

function kindOf(schema: Schema, types: string[], value: unknown): FieldKind {
  if (schema.enum?.every((choice) => typeof choice === "string")) return "choice";
  if (types.length !== 1) return "json";
  if (types[0] === "boolean") return "boolean";
  if (types[0] === "integer" || types[0] === "number") return "number";
  if (types[0] !== "string") return "json";
  return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
}

function typeOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? typeof value : "object";
}

function valueOf(field: Field, text: string): unknown {
  switch (field.kind) {
    case "number": {
      const value = Number(text);
      if (!Number.isFinite(value)) return { problem: "no number" };
      return field.whole && !Number.isInteger(value) ? { problem: "no whole number" } : value;
    }
    case "boolean":
      return text === "true";
    case "json":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return { problem: "no JSON" };
      }
    default:
      return text;
  }
}
