// How a page comes to its worker, without one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { WatchglassError } from "../src/errors.js";
import { attachWorker, type WorkerPort } from "../src/port.js";

const options = { url: "", identity: "", wasm: undefined, maxBytes: undefined, kubernetes: undefined };
const events = { frames() {}, restarted() {}, failed() {}, token: async () => "" };
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

// Regression: the platform's own error came, and the page went on saying that it is alive.
for (const [what, worker] of Object.entries<() => WorkerPort>({
  "be made": () => {
    throw new Error("the policy of the page forbids workers");
  },
  "be spoken to": () => ({
    onmessage: null,
    onfailure: null,
    postMessage() {
      throw new Error("this cannot be cloned");
    },
    close() {},
  }),
})) {
  test(`a worker that cannot ${what} is an error of ours, and leaves nothing behind`, async () => {
    const before = timers();
    await assert.rejects(attachWorker({ ...options, worker }, events), (error) => error instanceof WatchglassError && /^the worker cannot be started: (the policy|this cannot)/.test(error.message));
    assert.equal(timers(), before);
  });
}
