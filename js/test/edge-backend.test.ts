// The responses of a Durable Object to the edge's HTTP worker, with a fake engine.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, MemberEvents } from "../src/engine.js";
import { Backend } from "../src/edge/backend.js";
import { split } from "../src/wire/codec.js";
import { commandTypes } from "../src/wire/driver-commands.js";

const { OpenCollection } = commandTypes;

// A dropped request leaves no command in the engine.
test("a request reaches the engine once it can be answered, and is dropped otherwise", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const commands: number[] = [];
  const attach = (_: MemberEvents) => ({ member: 1, send: (frames: Uint8Array) => void commands.push(...[...split(frames)].map(({ type }) => type)), leave() {} });
  const backend = new Backend({ attach } as unknown as Engine, { resources: ["v1/pods"], refused: () => undefined });
  const ask = (question: string) => backend.answer(new URL(`http://object/backend/${question}`));
  const answers = ["get?resource=v1/pods&key=default/web-1", "list?resource=v1/pods", "schemas"].map(ask);
  const refused = Promise.all(answers.map((answer) => assert.rejects(answer, { code: 429, message: "the resource has not been loaded yet, try again" })));
  t.mock.timers.tick(10_000);
  await refused;
  assert.deepEqual(commands, [OpenCollection]);
  assert.equal(backend.bytes, 0);
});

test("readers do not receive the engine's error, which may name foreign objects", async (t) => {
  const logged = t.mock.method(console, "error", () => {});
  let events: MemberEvents | undefined;
  const attach = (given: MemberEvents) => ((events = given), { member: 1, send() {}, leave() {} });
  const backend = new Backend({ attach } as unknown as Engine, { resources: ["v1/pods"], refused: () => undefined });
  const answer = backend.answer(new URL("http://object/backend/list?resource=v1/pods"));
  const refused = assert.rejects(answer, { code: 503, message: "the object restarts" });
  events!.restarted("panic: team-b/payroll is broken");
  await refused;
  assert.match(String(logged.mock.calls[0]!.arguments[0]), /panic: team-b\/payroll/);
});
