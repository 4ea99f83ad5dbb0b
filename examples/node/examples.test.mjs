import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * Starts a program and returns an iterator over the lines of one of its output streams. The program
 * is stopped when the test ends.
 */
function lines(t, stream, command, ...args) {
  const stdio = stream === "stderr" ? ["ignore", "ignore", "pipe"] : ["ignore", "pipe", "inherit"];
  const child = spawn(command, args, { stdio });
  t.after(async () => {
    child.kill("SIGINT");
    if (child.exitCode === null) await once(child, "exit");
  });
  return createInterface(child[stream])[Symbol.asyncIterator]();
}

const start = (t, command, ...args) => lines(t, "stdout", command, ...args);

async function lineWith(lines, pattern) {
  for (;;) {
    const { value, done } = await lines.next();
    assert.ok(!done, `the program ended before it printed ${pattern}`);
    const match = pattern.exec(value);
    if (match) return match;
  }
}

/** Starts a demo and resolves with the URL of its WebSocket. */
async function demo(t) {
  const lines = start(t, at("../../build/watchglass"), "demo", "--pods", "200", "--listen", "127.0.0.1:0");
  const [, address] = await lineWith(lines, /http:\/\/(\S+)/);
  return `ws://${address}/watch`;
}

test("top prints the pods with the most restarts", async (t) => {
  const top = start(t, process.execPath, at("top.mjs"), await demo(t));
  const [, total] = await lineWith(top, /^live, (\d+) pods match$/);
  assert.ok(Number(total) > 0);
  const rows = [];
  for (let i = 0; i < 5; i++) rows.push(Number((await lineWith(top, /^  \S+\/\S+ (\d+)$/))[1]));
  assert.deepEqual(rows, rows.toSorted((a, b) => b - a));
});

test("sync prints only its duration and the bytes per pod", async (t) => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [at("sync.mjs"), await demo(t)]);
  const [, pods, bytes] = /^(\d+) pods in \d+ ms, (\d+) bytes each\n$/.exec(stdout);
  assert.ok(Number(pods) > 100);
  assert.ok(Number(bytes) > 0);
  assert.equal(stderr, "");
});

for (const program of ["top.mjs", "sync.mjs", "direct.mjs"]) {
  test(`${program} reports an unreachable server`, async (t) => {
    const address = program === "direct.mjs" ? "http://127.0.0.1:1" : "ws://127.0.0.1:1/watch";
    await lineWith(lines(t, "stderr", process.execPath, at(program), address), /^connecting: .*127\.0\.0\.1:1/);
  });
}

for (const program of ["top.mjs", "sync.mjs", "direct.mjs"]) {
  test(`${program} reports an error once, however often it retries`, async (t) => {
    let attempts = 0;
    let enough;
    const tried = new Promise((resolve) => (enough = resolve));
    const server = createServer((socket) => {
      socket.on("error", () => {}); // the program ends in the middle of an attempt
      socket.once("data", () => {
        socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 6\r\n\r\nclosed");
        if (++attempts === 4) enough();
      });
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const host = `127.0.0.1:${server.address().port}`;
    const address = program === "direct.mjs" ? `http://${host}` : `ws://${host}/watch`;
    const child = spawn(process.execPath, [at(program), address], { stdio: ["ignore", "ignore", "pipe"] });
    const log = text(child.stderr);
    const ended = once(child, "exit").then(async () => assert.fail(`the program ended: ${await log}`));
    await Promise.race([tried, ended]);
    ended.catch(() => {}); // the program now ends as expected
    child.kill();
    const lines = (await log).trim().split("\n");
    assert.deepEqual(lines, [...new Set(lines)]);
    assert.match(lines[0], /^connecting: /);
  });
}

test("direct prints the pods of a Kubernetes API by node", async (t) => {
  const lines = start(t, at("../../build/watchglass"), "demo", "--pods", "200", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0");
  const [, url] = await lineWith(lines, /--server (\S+)/);
  const direct = start(t, process.execPath, at("direct.mjs"), url);
  const [, total] = await lineWith(direct, /^live, (\d+) pods$/);
  assert.ok(Number(total) > 100);
  const [, count] = await lineWith(direct, /^  node-\S+ (\d+)$/);
  assert.ok(Number(count) > 0);
});
