// Tests of the responses of a Durable Object to the HTTP worker of the edge, with a fake engine.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine } from "../src/engine.js";
import { Backend } from "../src/edge/backend.js";
import { Metrics } from "../src/edge/metrics.js";
import { readCommand } from "../src/edge/command.js";
import type { MemberEvents } from "../src/member.js";
import { split } from "../src/wire/codec.js";
import { commandTypes } from "../src/wire/driver-commands.js";
import { backendPath, commandFrame, getCommand, listCommand, watchCommand } from "./edge-fixture.js";

const { OpenCollection } = commandTypes;

// A request that times out must not leave a command in the engine.
test("a request for a resource that is not loaded times out, and sends no command", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const commands: number[] = [];
  const attach = (_: MemberEvents) => ({ member: 1, send: (frames: Uint8Array) => void commands.push(...[...split(frames)].map(({ type }) => type)), leave() {} });
  const backend = new Backend({ attach } as unknown as Engine, { resources: ["v1/pods"], refused: () => undefined }, new Metrics());
  const ask = (path: string) => backend.answer(new URL(path, "http://object"));
  const answers = [getCommand("default/web-1"), listCommand()].map((command) => ask(backendPath(commandFrame(command)))).concat(ask("/backend/schemas"));
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
  const backend = new Backend({ attach } as unknown as Engine, { resources: ["v1/pods"], refused: () => undefined }, new Metrics());
  const answer = backend.answer(new URL(backendPath(commandFrame(listCommand())), "http://object"));
  const refused = assert.rejects(answer, { code: 503, message: "the object restarts" });
  events!.restarted("panic: team-b/payroll is broken");
  await refused;
  assert.match(String(logged.mock.calls[0]!.arguments[0]), /panic: team-b\/payroll/);
});

test("a command is read as it was written", () => {
  const scope = { namespace: "shop", labelSelector: "app in (a, b)", fieldSelector: "status.phase!=Running", resourceVersion: "42", match: 1 };
  const commands = [
    getCommand("shop/ö"),
    listCommand({ ...scope, limit: 500, continue: "token" }),
    watchCommand({ ...scope, sendInitialEvents: 2, bookmarks: true, timeoutSeconds: 0xffff_ffff, policy: 2, credit: 7 }),
  ];
  for (const command of commands) assert.deepEqual(readCommand(Buffer.from(commandFrame(command)).toString("base64url")), command);
});

test("anything but one readable command is refused", () => {
  const refused = { code: 400, reason: "BadRequest", message: /^the parameter command is invalid: / };
  const whole = commandFrame(watchCommand({ namespace: "shop", resourceVersion: "42" }));
  for (let n = 0; n < whole.length; n++) assert.throws(() => readCommand(Buffer.from(whole.subarray(0, n)).toString("base64url")), refused);
  const shorter = (n: number): Buffer => Buffer.from([whole[0]!, whole[1]! - n, ...whole.subarray(2, whole.length - n)]);
  const close = commandFrame({ type: "CloseCollection", collection: 1 });
  for (const frames of [shorter(1), [whole[0], whole[1]! + 1, ...whole.subarray(2), 0], [...whole, ...whole], close, [0xff, 0]]) {
    assert.throws(() => readCommand(Buffer.from(frames as number[]).toString("base64url")), refused);
  }
  for (const text of [null, "", "!", "A", "=".repeat(4)]) assert.throws(() => readCommand(text), refused);
});
