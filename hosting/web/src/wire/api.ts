// The HTTP API of docs/api.md.
import type { ErrorInfo } from "./protocol";
import { storedToken } from "./token";

/** What the host refused, or that it did not answer (`unreachable`). */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly extra: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** Milliseconds by which the host's clock is ahead of this one, for countdowns. */
export let skew = 0;

export async function get<T>(path: string, query: Record<string, string | number | boolean | undefined> = {}): Promise<T> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return (await request("GET", search ? `${path}?${search}` : path)).json() as Promise<T>;
}

export async function send<T>(method: "POST" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T> {
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
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  } catch {
    throw new Refused("unreachable", "the host does not answer");
  }
  const date = answer.headers.get("Date");
  if (date !== null) skew = Date.parse(date) + 500 - Date.now();
  if (answer.ok) return answer;
  throw refusal(await answer.json().catch(() => ({})), answer.status);
}

/** The error in an answer of the host, over HTTP or Socket.IO. */
export function refusal(answer: { error?: ErrorInfo & Record<string, unknown> }, status = 0): Refused {
  const { code, message, ...extra } = answer.error ?? { code: "internal", message: `the host answered ${status}` };
  return new Refused(code, message, extra);
}
