import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Starts a program and yields its lines; it is stopped when the test ends. */
function start(t, command, ...args) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(async () => {
    child.kill("SIGINT");
    if (child.exitCode === null) await once(child, "exit");
  });
  return createInterface(child.stdout)[Symbol.asyncIterator]();
}

async function lineWith(lines, pattern) {
  for (;;) {
    const { value, done } = await lines.next();
    assert.ok(!done, `the program ended before it printed ${pattern}`);
    const match = pattern.exec(value);
    if (match) return match;
  }
}

test("top prints the pods with the most restarts", async (t) => {
  const demo = start(t, at("../../build/watchglass"), "demo", "--pods", "200", "--listen", "127.0.0.1:0");
  const [, address] = await lineWith(demo, /http:\/\/(\S+)/);
  const top = start(t, process.execPath, at("top.mjs"), `ws://${address}/watch`);
  const [, total] = await lineWith(top, /^live, (\d+) pods match$/);
  assert.ok(Number(total) > 0);
  const rows = [];
  for (let i = 0; i < 5; i++) rows.push(Number((await lineWith(top, /^  \S+\/\S+ (\d+)$/))[1]));
  assert.deepEqual(rows, rows.toSorted((a, b) => b - a));
});
