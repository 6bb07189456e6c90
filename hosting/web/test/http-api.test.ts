// Requests of operations: the fields of the path, of the query and of the body.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, fillPath, toQuery } from "../src/wire/http-api";
import type { HttpOperation } from "../src/wire/operation";

test("fields of the path are escaped, and the others stay", () => {
  const found = fillPath("/api/goals/{goal_id}/steps/{step}", { goal_id: "a/b", step: 3, title: "Tea" });
  assert.deepEqual(found, { path: "/api/goals/a%2Fb/steps/3", fields: { title: "Tea" } });
});

test("a query has the fields that say something", () => {
  assert.equal(toQuery({ q: "a&b", limit: 0, cursor: undefined, since: "", session_id: null, everything: false, cut: true }), "?q=a%26b&limit=0&cut=true");
  assert.equal(toQuery({}), "");
});

for (const [method, path, body] of [
  ["GET", "/api/toys/t?depth=2", undefined],
  ["DELETE", "/api/toys/t?depth=2", undefined],
  ["PATCH", "/api/toys/t", '{"depth":2}'],
] as const) {
  test(`${method} sends its fields where the host reads them`, async () => {
    const sent: unknown[] = [];
    globalThis.sessionStorage = { getItem: () => "secret" } as unknown as Storage;
    globalThis.fetch = (url, options) => {
      sent.push(url, options?.method, options?.body, new Headers(options?.headers).get("Authorization"));
      return Promise.resolve(Response.json({ name: "Ball" }));
    };
    const toy: HttpOperation<{ toy_id: string; depth?: number }, { name: string }> = { method, path: "/api/toys/{toy_id}" };
    assert.deepEqual(await call(toy, { toy_id: "t", depth: 2 }), { name: "Ball" });
    assert.deepEqual(sent, [path, method, body, "Bearer secret"]);
  });
}
