// Client of the HTTP API (docs/api.md).
import type { ErrorInfo } from "./protocol";
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

export async function getJson<T>(path: string, query: Record<string, string | number | boolean | undefined> = {}): Promise<T> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return (await request("GET", search ? `${path}?${search}` : path)).json() as Promise<T>;
}

export async function sendJson<T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T> {
  return (await request(method, path, body)).json() as Promise<T>;
}

export async function download(path: string): Promise<Blob> {
  return (await request("GET", path)).blob();
}

async function request(method: string, path: string, body?: unknown): Promise<Response> {
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
export function errorFromResponse(payload: { error?: ErrorInfo & Record<string, unknown> }, status = 0): ApiError {
  if (payload.error === undefined) return new ApiError("internal", t("The host responded with status {status}.", { status }));
  const { code, message, ...extra } = payload.error;
  return new ApiError(code, message, extra, true);
}
