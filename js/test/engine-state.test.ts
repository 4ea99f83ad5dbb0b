import assert from "node:assert/strict";
import { test } from "node:test";
import { next, nextVisibility, started, type EngineEvent, type EngineState, type Visibility, type VisibilityEvent } from "../src/engine-state.js";
import type { Guest } from "../src/guest.js";

const [first, second] = [{}, {}] as [Guest, Guest];
const failed = (now: number): EngineEvent => ({ type: "failed", now });
const states = {
  running: started(first),
  restarting: next(started(first), failed(1e6)),
  closed: next(started(first), { type: "closed" }),
};
const events: Record<EngineEvent["type"], EngineEvent> = {
  failed: failed(2e6),
  created: { type: "created", guest: second },
  command: { type: "command", member: 1, frames: new Uint8Array() },
  closed: { type: "closed" },
};

test("each event leads an engine from each state to the state of the table", () => {
  const table: Record<EngineState["name"], Record<EngineEvent["type"], EngineState["name"]>> = {
    running: { failed: "restarting", created: "running", command: "running", closed: "closed" },
    restarting: { failed: "restarting", created: "running", command: "restarting", closed: "closed" },
    closed: { failed: "closed", created: "closed", command: "closed", closed: "closed" },
  };
  for (const [name, row] of Object.entries(table)) {
    const state = states[name as keyof typeof states];
    assert.equal(state.name, name);
    for (const [type, expected] of Object.entries(row)) {
      assert.equal(next(state, events[type as EngineEvent["type"]]).name, expected, `${name}, ${type}`);
    }
  }
});

test("only an engine that restarts takes another guest", () => {
  const running = next(states.restarting, events.created);
  assert.ok(running.name === "running" && running.guest === second);
  assert.equal(next(states.running, events.created), states.running);
  assert.equal(next(states.closed, events.created), states.closed);
});

test("commands wait for the next guest in their order, also if it cannot be created", () => {
  const [one, two] = [new Uint8Array([1]), new Uint8Array([2])];
  let state = next(states.restarting, { type: "command", member: 7, frames: one });
  state = next(state, failed(2e6));
  state = next(state, { type: "command", member: 8, frames: two });
  assert.deepEqual(state.name === "restarting" && state.waiting, [[7, one], [8, two]]);
  assert.deepEqual(next(next(state, events.created), failed(3e6)), { ...next(states.running, failed(3e6)), failures: { repeated: 0, at: 3e6 } });
});

test("the delay doubles with each failure, up to 30 s, and is reset by two minutes without one", () => {
  let state: EngineState = started(first);
  let now = 1e6;
  const delays = Array.from({ length: 10 }, () => {
    state = next(state, failed((now += 1000)));
    assert.ok(state.name === "restarting");
    const { delay } = state;
    state = next(state, events.created);
    return delay;
  });
  assert.deepEqual(delays, [0, 250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  const again = next(state, failed(now + 120_000));
  assert.equal(again.name === "restarting" && again.delay, 0);
});

test("each event leads the visibility to the one of the table", () => {
  const table: Record<Visibility, Record<VisibilityEvent, Visibility>> = {
    visible: { hidden: "hidden", shown: "visible", elapsed: "visible" },
    hidden: { hidden: "hidden", shown: "visible", elapsed: "paused" },
    paused: { hidden: "paused", shown: "visible", elapsed: "paused" },
  };
  for (const [from, row] of Object.entries(table)) {
    for (const [event, to] of Object.entries(row)) {
      assert.equal(nextVisibility(from as Visibility, event as VisibilityEvent), to, `${from}, ${event}`);
    }
  }
});
