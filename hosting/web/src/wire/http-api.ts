// Client of the HTTP API (docs/api.md).
import type { Asked, HttpOperation } from "./operation";
import type { ErrorDetail } from "./types";
import { storedToken } from "./token-storage";
import { t } from "../text/translate";

/** An error response of the host; code `unreachable` if there was no response. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly extra: Record<string, unknown> = {},
    /** Whether the host wrote the message; otherwise the page did, in its language. */
    readonly isFromHost = false,
  ) {
    super(message);
  }
}

/** Milliseconds by which the host's clock is ahead of the browser's; for countdowns. */
export let clockSkewMs = 0;

/** Asks an operation and returns its result. */
export async function call<Request, Result>(operation: HttpOperation<Request, Result>, ...[request]: Asked<Request>): Promise<Result> {
  return (await send(operation, request)).json() as Promise<Result>;
}

/** Asks an operation and returns its answer as a file. */
export async function download<Request>(operation: HttpOperation<Request, unknown>, ...[request]: Asked<Request>): Promise<Blob> {
  return (await send(operation, request)).blob();
}

/** Returns the JSON at a path that the host has given. */
export async function loadJson<T>(path: string): Promise<T> {
  return (await exchange("GET", path)).json() as Promise<T>;
}

function send(operation: HttpOperation<never, unknown>, request: unknown): Promise<Response> {
  const { path, fields } = fillPath(operation.path, request);
  if (operation.method === "GET" || operation.method === "DELETE") return exchange(operation.method, path + toQuery(fields));
  return exchange(operation.method, path, Object.keys(fields).length === 0 ? undefined : fields);
}

/** The path with its fields, and the other fields of the request. */
export function fillPath(template: string, request: unknown): { path: string; fields: Record<string, unknown> } {
  const fields = { ...(request as Record<string, unknown> | undefined) };
  const path = template.replace(/{(\w+)}/g, (_, name: string) => {
    const value = String(fields[name]);
    delete fields[name];
    return encodeURIComponent(value);
  });
  return { path, fields };
}

/** Fields as a query; those that are empty are left out. */
export function toQuery(fields: Record<string, unknown>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()}`;
}

async function exchange(method: string, path: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = {};
  const token = storedToken();
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  } catch {
    throw new ApiError("unreachable", t("The host does not respond."));
  }
  const date = response.headers.get("Date");
  if (date !== null) clockSkewMs = Date.parse(date) + 500 - Date.now();
  if (response.ok) return response;
  throw errorFromResponse(await response.json().catch(() => ({})), response.status);
}

/** Converts an error payload of the host, from HTTP or Socket.IO, to an `ApiError`. */
export function errorFromResponse(payload: { error?: ErrorDetail & Record<string, unknown> }, status = 0): ApiError {
  if (payload.error === undefined) return new ApiError("internal", t("The host responded with status {status}.", { status }));
  const { code, message, ...extra } = payload.error;
  return new ApiError(code, message, extra, true);
}
