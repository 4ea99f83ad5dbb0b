// Tests of the package in Node with the real module, with a small connector over a real
// WebSocket.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { test, type TestContext } from "node:test";
import { abi, compile, openGuest } from "../src/guest.js";
import { connect, type KubeObject, WatchglassError, type WatchEvent } from "../src/index.js";
import { Wasi } from "../src/wasi.js";
import { Writer } from "../src/wire/codec.js";
import { writeCommand, type Command } from "../src/wire/driver-commands.js";
import { until } from "./cluster.js";
import { TestConnector } from "./connector.js";
import { built } from "./paths.js";

const wasm = pathToFileURL(built("watchglass.wasm"));
const skip = existsSync(wasm) ? false : "build/watchglass.wasm is missing";
const config: Command & { type: "Config" } = { type: "Config", seed: 1, client: "test", maxBytes: 0, maxHistory: 0, credit: 0, kubernetes: "" };

async function setup(t: TestContext, token: string | (() => string) = "t0ken") {
  const connector = await TestConnector.start();
  connector.put("default/web-1", "web", "Running");
  connector.put("default/web-2", "web", "Pending");
  connector.put("default/api-1", "api", "Running");
  const wg = await connect(`ws://${connector.address}/watch`, { wasm, token });
  t.after(async () => {
    wg.close();
    await connector.close();
  });
  return { connector, wg, pods: wg.collection("v1/pods") };
}

async function take(it: AsyncIterator<WatchEvent<KubeObject>>): Promise<string> {
  const { value, done } = await it.next();
  if (done) return "end";
  const event = value as WatchEvent<KubeObject>;
  if (event.type === "BOOKMARK") return `BOOKMARK ${event.resourceVersion}${event.initialEventsEnd ? " end" : ""}`;
  return `${event.type} ${event.object.metadata.name} ${event.object.metadata.resourceVersion}`;
}

test("the shim has all imports of the module", { skip }, async () => {
  const module = await compile(wasm);
  assert.doesNotThrow(() => new Wasi().importsFor(module, { watchglass: { load: () => 0 } }));
  // (module (import "env" "f" (func)))
  const other = new WebAssembly.Module(Buffer.from("0061736d010000000104016000000209010365 6e7601660000".replace(" ", ""), "hex"));
  assert.throws(() => new Wasi().importsFor(other), /imports function env\.f/);
});

test("a module of another release is refused", async () => {
  const word = /the module has version 0x[0-9a-f]{8} of the interface, .* use the watchglass\.wasm of the same release/;
  for (const version of [1, abi + (1 << 24), abi ^ 1]) await assert.rejects(openGuest(moduleSaying(version), config), word);
});

/** Returns a module with all exports of the interface. Each exported function returns `version`. */
function moduleSaying(version: number): WebAssembly.Module {
  const names = ["_initialize", "wg_abi", "wg_reserve", "wg_open", "wg_step", "wg_tick", "wg_ready", "wg_out", "wg_advance", "wg_error", "wg_close"];
  const signed = (n: number): number[] => (n >= -64 && n < 64 ? [n & 0x7f] : [(n & 0x7f) | 0x80, ...signed(n >> 7)]);
  const named = (name: string, kind: number): number[] => [name.length, ...Buffer.from(name), kind, 0];
  const section = (id: number, ...content: number[]): number[] => [id, (content.length & 0x7f) | 0x80, content.length >> 7, ...content];
  const body = [0, 0x41, ...signed(version), 0x0b]; // no locals; i32.const
  return new WebAssembly.Module(
    new Uint8Array([
      ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      ...section(1, 1, 0x60, 0, 1, 0x7f), // one function type: no parameters, an i32 result
      ...section(3, 1, 0),
      ...section(5, 1, 0, 1),
      ...section(7, names.length + 1, ...named("memory", 2), ...names.flatMap((name) => named(name, 0))),
      ...section(10, 1, body.length, ...body),
    ]),
  );
}

test("a guest refuses invalid input and remains usable", { skip }, async () => {
  const guest = await openGuest(await compile(readFileSync(wasm)), config);
  guest.tick(1);
  assert.throws(() => guest.step(new Uint8Array([0x41, 1])), (e: any) => e.poisoned === false && /\w/.test(e.message));
  assert.throws(() => guest.step(new Uint8Array(64 << 20)), /too many/);
  const w = new Writer();
  writeCommand(w, { type: "Inspect", request: 7 });
  guest.step(w.take());
  assert.ok(guest.take()!.length > 0);
  guest.close();
});

test("a module that cannot be loaded is a clear error", async () => {
  await assert.rejects(connect("ws://127.0.0.1:1/", { wasm: pathToFileURL(built("absent.wasm")) }), /cannot load the watchglass module from .*absent\.wasm/);
  await assert.rejects(connect("wss://user:secret@host/", { wasm }), /contains credentials/);
  await assert.rejects(connect("ftp://host/", { wasm }), /not a WebSocket URL/);
});

test("a view follows the connector, filtered and sorted", { skip }, async (t) => {
  const { connector, pods } = await setup(t);
  const view = pods.view({ labelSelector: "app=web", sort: "-name", facets: ["Phase"] });
  await view.ready;
  assert.deepEqual(view.snapshot.rows.map((r) => r.key), ["default/web-2", "default/web-1"]);
  assert.deepEqual(view.snapshot.facets["Phase"]?.values, [["Pending", 1], ["Running", 1]]);
  assert.deepEqual(view.snapshot.rows[0]!.labels, { app: "web" });
  const unchanged = view.snapshot.rows[1];
  connector.put("default/web-2", "web", "Running");
  await until(view, () => view.snapshot.rows[0]?.columns[0] === "Running");
  assert.equal(view.snapshot.rows[1], unchanged);
  connector.put("default/web-3", "web", "Running");
  connector.delete("default/web-1");
  await until(view, () => view.snapshot.rows.map((r) => r.name).join() === "web-3,web-2");
  await assert.rejects(view.query({ sort: "nonsense" }), (e: unknown) => e instanceof WatchglassError && e.code === 400);
  await view.query({ sort: "name", limit: 1 });
  assert.deepEqual([view.snapshot.rows.length, view.snapshot.total], [1, 3]);
});

test("get, list, watch and inspect", { skip }, async (t) => {
  const { connector, wg, pods } = await setup(t);
  const pod = await pods.get("default/web-1");
  assert.deepEqual([pod.kind, pod.metadata.resourceVersion, pod.metadata.labels], ["Pod", "101", { app: "web" }]);
  await assert.rejects(pods.get("default/none"), (e: unknown) => e instanceof WatchglassError && e.reason === "NotFound");
  const page = await pods.list({ limit: 2 });
  assert.deepEqual(page.items.map((o) => o.metadata.name), ["api-1", "web-1"]);
  const rest = await pods.list({ limit: 2, continue: page.continue });
  assert.deepEqual(rest.items.map((o) => o.metadata.name), ["web-2"]);

  const watch = pods.watch({ labelSelector: "app=web", sendInitialEvents: true, allowWatchBookmarks: true, credit: 1 })[Symbol.asyncIterator]();
  assert.deepEqual([await take(watch), await take(watch), await take(watch)], ["ADDED web-1 101", "ADDED web-2 102", "BOOKMARK 103 end"]);
  connector.put("default/web-1", "api", "Running");
  assert.equal(await take(watch), "DELETED web-1 104");
  connector.put("default/web-1", "web", "Running");
  assert.equal(await take(watch), "ADDED web-1 105");
  await watch.return?.();
  const state = await wg.inspect();
  assert.equal(state["collection.1.objects"], 3);
  assert.ok(Object.values(state).every(Number.isFinite));
});

test("after a disconnect the reader resumes by version without a gap", { skip }, async (t) => {
  let tokens = 0;
  const { connector, wg, pods } = await setup(t, () => `t${++tokens}`);
  await pods.synced;
  const watch = pods.watch({ resourceVersion: "103" })[Symbol.asyncIterator]();
  const states = new Set<string>();
  pods.subscribe(() => {
    states.add(pods.status.state);
    if (pods.status.state === "reconnecting") wg.reconnect();
  });
  connector.cut();
  connector.put("default/web-3", "web", "Running");
  connector.delete("default/api-1");
  assert.deepEqual([await take(watch), await take(watch)], ["ADDED web-3 104", "DELETED api-1 105"]);
  await until(pods, () => pods.status.state === "live");
  assert.ok(states.has("reconnecting"));
  assert.deepEqual(connector.hellos, ["t1", "t2"]);
  assert.deepEqual(connector.subscribes, [0, 103]);
});

test("a malformed message closes the connection, and the reader reconnects", { skip }, async (t) => {
  const { connector, wg, pods } = await setup(t);
  await pods.synced;
  pods.subscribe(() => pods.status.state === "reconnecting" && wg.reconnect());
  connector.send(new Uint8Array([0x17, 0x7f, 1]));
  await until(pods, () => connector.hellos.length === 2 && pods.status.state === "live");
});

test("a refused connection is retried", { skip }, async (t) => {
  const connector = await TestConnector.start();
  connector.refusals = 1;
  const wg = await connect(`http://${connector.address}/`, { wasm });
  t.after(async () => {
    wg.close();
    await connector.close();
  });
  await wg.collection("v1/pods").synced;
  assert.equal(connector.refusals, 0);
});

test("an engine without SIMD gets an error that names SIMD", async (t) => {
  t.mock.method(WebAssembly, "validate", () => false);
  await assert.rejects(compile(new URL("file:///nowhere.wasm")), /needs WebAssembly with vectors \(SIMD\).*Safari 16\.4/);
  await assert.rejects(compile(new Uint8Array()), /needs WebAssembly with vectors/);
});
