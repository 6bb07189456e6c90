import assert from "node:assert/strict";
import { test } from "node:test";
import { DecisionQueue, type DecisionSocket } from "../src/model/decision-queue";
import { ApiError } from "../src/wire/http-api";
import type { Asked, SocketOperation } from "../src/wire/operation";
import type { ApprovalDecision } from "../src/wire/types";

type Answer = "ok" | ApiError;

/** A host that gives these answers, one to each request. */
class Host implements DecisionSocket {
  connected = true;
  readonly received: unknown[] = [];

  constructor(private readonly answers: Answer[]) {}

  call<Request, Result>(operation: SocketOperation<Request, Result>, ...[request]: Asked<Request>): Promise<Result> {
    const { approval_id: id, decision } = request as ApprovalDecision;
    this.received.push([operation.event, id, decision]);
    const answer = this.answers.shift() ?? "ok";
    return answer === "ok" ? Promise.resolve({} as Result) : Promise.reject(answer);
  }
}

const APPROVE = { approval_id: "a", decision: "approve" } as const;
const SENT = ["decide_approval", "a", "approve"];
const STARTING = new ApiError("unavailable", "the host is starting");
const GONE = new ApiError("unreachable", "the host did not respond");
const decidedBy = (user: string): ApiError => new ApiError("already_decided", "decided before", { decided_by: user });

function queueFor(host: Host): DecisionQueue {
  return new DecisionQueue(() => host, () => "ada", 0);
}

test("a decision is sent once, and is pending until the host has recorded it", async () => {
  const host = new Host(["ok"]);
  const queue = queueFor(host);
  const decided = queue.add(APPROVE);
  assert.deepEqual([...queue.pendingIds.value], ["a"]);
  queue.resend(); // it is being sent
  await decided;
  queue.resend();
  assert.deepEqual([host.received, queue.pendingIds.value.size], [[SENT], 0]);
});

test("a decision that is made without a connection is sent after reconnecting", async () => {
  const host = new Host(["ok"]);
  host.connected = false;
  const queue = queueFor(host);
  const decided = queue.add(APPROVE);
  assert.deepEqual([host.received, queue.pendingIds.value.size], [[], 1]);
  host.connected = true;
  queue.resend();
  await decided;
  assert.deepEqual(host.received, [SENT]);
});

for (const error of [STARTING, GONE])
  test(`a decision that the host answers with ${error.code} is sent again`, async () => {
    const host = new Host([error, error, "ok"]);
    await queueFor(host).add(APPROVE);
    assert.deepEqual(host.received, [SENT, SENT, SENT]);
  });

test("a decision whose first attempt was recorded without a response is done", async () => {
  await queueFor(new Host([GONE, decidedBy("ada")])).add(APPROVE);
});

for (const [answers, code] of [
  [[decidedBy("ada")], "already_decided"], // on another page
  [[GONE, decidedBy("bob")], "already_decided"],
  [[new ApiError("expired", "too late")], "expired"],
] as const)
  test(`a refused decision is pending no longer: ${code} after ${answers.length}`, async () => {
    const queue = queueFor(new Host([...answers]));
    await assert.rejects(queue.add(APPROVE), { code });
    assert.equal(queue.pendingIds.value.size, 0);
  });
