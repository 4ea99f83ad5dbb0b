import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock } from "../src/clock.js";

test("the clock advances when the wall clock is set back, and jumps after sleep", (t) => {
  let wall = 1_000_000;
  let steady = 50;
  t.mock.method(Date, "now", () => wall);
  t.mock.method(performance, "now", () => steady);
  const clock = new Clock();
  assert.equal(clock.now(), 1_000_000);

  steady += 500;
  wall -= 3_600_000; // the clock of the system is set back an hour
  assert.equal(clock.now(), 1_000_500);

  steady += 1000;
  wall += 1000;
  assert.equal(clock.now(), 1_001_500);

  assert.equal(clock.sleeps, 0);
  wall += 60_000; // the machine slept for a minute, during which the monotonic clock stopped
  assert.equal(clock.now(), 1_061_500);
  assert.equal(clock.sleeps, 1);

  wall += 60_000; // the browser throttled a timer, but the machine did not sleep
  steady += 60_000;
  clock.fired(1_061_500);
  assert.equal(clock.sleeps, 1);
  wall += 100_000; // the machine slept, but the monotonic clock did not stop
  steady += 100_000;
  clock.fired(1_121_500);
  assert.equal(clock.sleeps, 2);
});
