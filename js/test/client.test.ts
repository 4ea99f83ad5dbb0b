import assert from "node:assert/strict";
import { test } from "node:test";
import { WatchglassError } from "../src/errors.js";
import { connect } from "../src/index.js";
import { lazy } from "../src/lazy.js";
import type { KubeObject, WatchEvent } from "../src/types.js";
import { Reader } from "../src/wire/codec.js";
import { clientAt, fakeEngine, GuestError, say, speak, turn } from "./fake.js";

const live = 2;
const gone = { code: 410, reason: "Expired", message: "too old" };
const bad = { code: 400, reason: "BadRequest", message: "unknown column" };

async function setup() {
  const fake = await fakeEngine();
  const client = await clientAt(fake.engine);
  return { ...fake, client };
}

async function withCollection() {
  const s = await setup();
  const pods = s.client.collection("v1/pods", { namespace: "default" });
  await turn();
  const id = s.guest().last("OpenCollection").id;
  await speak(s.client, s.guest(), (w) => (say.schema(w, id), say.state(w, id, live, { rv: 7, objects: 2 })));
  return { ...s, pods, id };
}

const named = (key: string) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: key.split("/")[1], namespace: "default", uid: `uid-${key}` } });

/** Returns the next event. Fails the test if the watch has ended. */
async function next(it: AsyncIterator<WatchEvent<KubeObject>>): Promise<WatchEvent<KubeObject>> {
  const { value, done } = await it.next();
  assert.ok(!done, "the watch has ended");
  return value;
}

test("a collection reports its state, schema and errors", async () => {
  const { pods, client, guest, id } = await withCollection();
  await pods.synced;
  assert.equal(pods.status.state, "live");
  assert.equal(pods.progress.resourceVersion, "7");
  assert.equal(pods.progress.lastProgress, 1_000_000);
  assert.equal(pods.schema?.columns[0]?.name, "Phase");
  assert.ok(Object.isFrozen(pods.status) && Object.isFrozen(pods.schema));
  const errors: string[] = [];
  pods.onObjectError((key, status) => errors.push(`${key}: ${status.message}`));
  await speak(client, guest(), (w) => say.objectError(w, id, "default/x", bad));
  assert.deepEqual(errors, ["default/x: unknown column"]);
});

test("waitFor resolves when the collection has reached a version, and not before", async () => {
  const { pods, client, guest, id } = await withCollection();
  await pods.waitFor("7");
  let reached = false;
  const waiting = pods.waitFor("10").then(() => (reached = true));
  await speak(client, guest(), (w) => say.state(w, id, live, { rv: 9 }));
  await turn();
  assert.equal(reached, false);
  await speak(client, guest(), (w) => say.state(w, id, live, { rv: 10 }));
  await waiting;
  await assert.rejects(pods.waitFor("new"), TypeError);
});

test("waitFor rejects when its signal is aborted or the collection ends", async () => {
  const { pods } = await withCollection();
  const abort = new AbortController();
  const [aborted, closed] = [pods.waitFor("8", { signal: abort.signal }), pods.waitFor("8")];
  const reason = new Error("the page was left");
  abort.abort(reason);
  await assert.rejects(aborted, reason);
  await assert.rejects(pods.waitFor("8", { signal: abort.signal }), reason);
  pods.close();
  await assert.rejects(closed, /is closed/);
  await assert.rejects(pods.waitFor("7"), /is closed/);
});

test("a collection reports the next attempt while one is scheduled", async () => {
  const { pods, client, guest, id } = await withCollection();
  await pods.synced;
  assert.ok(!("nextAttempt" in pods.status));
  await speak(client, guest(), (w) => say.state(w, id, 4, { next: 1_035_000, status: bad }));
  assert.equal(pods.status.nextAttempt, 1_035_000);
  await speak(client, guest(), (w) => say.state(w, id, 4, { status: bad }));
  assert.ok(!("nextAttempt" in pods.status));
  await speak(client, guest(), (w) => say.state(w, id, 4, { next: 1_035_000, status: bad }));
  pods.close();
  assert.ok(!("nextAttempt" in pods.status), "no further attempt is made");
});

test("invalid options are refused before they reach the engine", async () => {
  const { pods, client, guest } = await withCollection();
  const wrong = (value: unknown): any => value; // the types exclude such values, but a JavaScript program may pass them
  const column = (more: object): any => ({ columns: [{ name: "Size", kind: "integer", path: ".spec.size", ...more }] });
  const before = guest().commands.length;
  for (const [attempt, message] of [
    [() => client.collection("v1/pods", column({ kind: "int" })), 'kind of column Size is "int", expected "null" or "bool" or "integer" or "number" or "date" or "string" or "duration"'],
    [() => client.collection("v1/pods", column({ kind: undefined })), 'kind of column Size is undefined, expected "null" or "bool" or "integer" or "number" or "date" or "string" or "duration"'],
    [() => client.collection("v1/pods", column({ priority: 256 })), "priority of column Size is 256, expected a whole number from 0 to 255"],
    [() => pods.list({ resourceVersionMatch: wrong("exact") }), 'resourceVersionMatch is "exact", expected "NotOlderThan" or "Exact"'],
    [() => pods.watch({ resourceVersionMatch: wrong("unset") })[Symbol.asyncIterator](), 'resourceVersionMatch is "unset", expected "NotOlderThan" or "Exact"'],
    [() => pods.watch({ policy: wrong("drop") })[Symbol.asyncIterator](), 'policy is "drop", expected "stall" or "terminate" or "conflate"'],
    [() => pods.watch({ credit: 1.5 })[Symbol.asyncIterator](), "credit is 1.5, expected a whole number from 0 to 4294967295"],
    [() => connect("ws://127.0.0.1:1", { worker: wrong("none") }), 'worker is "none", expected "shared" or "dedicated" or "inline"'],
    [() => connect("ws://127.0.0.1:1", { worker: "dedicated" }), 'worker is "dedicated", and this platform has no dedicated workers: omit the option'],
    [() => pods.view({ limit: 10_001 }), "limit is 10001, expected a whole number from 0 to 10000"],
  ] as const) {
    await assert.rejects(async () => attempt(), { code: 400, message });
  }
  await turn();
  assert.equal(guest().commands.length, before);
});

test("listeners are called once for many changes, and one that throws does not affect others", async (t) => {
  t.mock.method(console, "error", () => {});
  const { pods, client, guest, id } = await withCollection();
  await new Promise((resolve) => setTimeout(resolve)); // lets pending callbacks run
  let calls = 0;
  pods.subscribeProgress(() => {
    throw new Error("from a listener");
  });
  const stop = pods.subscribeProgress(() => calls++);
  const called = new Promise<void>((resolve) => pods.subscribeProgress(resolve));
  const { status } = pods;
  pods.subscribe(() => assert.fail("the status has not changed"));
  await speak(client, guest(), (w) => {
    for (let rv = 10; rv < 20; rv++) say.state(w, id, live, { rv });
  });
  await called;
  assert.equal(calls, 1);
  assert.equal(pods.progress.resourceVersion, "19");
  assert.equal(pods.status, status, "counters are not part of the status");
  stop();
  stop();
});

test("a rejected collection ends its watches and views with the reason", async () => {
  const { client, guest } = await setup();
  const pods = client.collection("v1/pods");
  const view = pods.view();
  const watch = pods.watch()[Symbol.asyncIterator]();
  const is403 = (e: unknown) => e instanceof WatchglassError && e.code === 403 && e.reason === "Forbidden";
  const pending = assert.rejects(watch.next(), is403);
  await turn();
  const denied = { code: 403, reason: "Forbidden", message: "pods is forbidden" };
  await speak(client, guest(), (w) => say.rejected(w, 0, guest().last("OpenCollection").id, denied));
  await assert.rejects(pods.synced, is403);
  await assert.rejects(view.ready, is403);
  await pending;
  assert.equal(pods.status.state, "closed");
  assert.equal(pods.status.error?.message, "pods is forbidden");
  assert.throws(() => pods.view(), is403);
  await assert.rejects(pods.get("default/x"), is403);
});

test("requests to a refused collection reject with the reason", async () => {
  const { client, guest } = await setup();
  const pods = client.collection("pods");
  const refused = [assert.rejects(pods.get("a/b"), /invalid resource/), assert.rejects(pods.list(), /invalid resource/)];
  await turn();
  const invalid = { code: 400, reason: "BadRequest", message: "invalid resource" };
  const none = { code: 404, reason: "NotFound", message: "the collection is not open" };
  await speak(client, guest(), (w) => {
    say.rejected(w, 0, guest().last("OpenCollection").id, invalid);
    say.error(w, guest().last("Get").id, none);
    say.error(w, guest().last("List").id, none);
  });
  await Promise.all(refused);
});

test("objects may have types of generated clients", async () => {
  interface Pod {
    apiVersion?: string;
    metadata?: { name?: string };
    spec?: { nodeName?: string };
  }
  const { client, guest } = await setup();
  const pods = client.collection<Pod>("v1/pods");
  const handle = client.object<Pod>("v1/pods", "default/a");
  const found = pods.get("default/a");
  await turn();
  const body = { ...named("default/a"), spec: { nodeName: "node-1" } };
  await speak(client, guest(), (w) => say.object(w, guest().last("Get").id, { key: "default/a", rv: 42, body }));
  assert.equal((await found).spec?.nodeName, "node-1");
  handle.close();
});

test("get and inspect resolve, or reject with the status", async () => {
  const { pods, client, guest } = await withCollection();
  const found = pods.get("default/a");
  await turn();
  await speak(client, guest(), (w) => say.object(w, guest().last("Get").id, { key: "default/a", rv: 42, body: named("default/a") }));
  assert.equal((await found).metadata.resourceVersion, "42");
  const missing = assert.rejects(pods.get("default/b"), /no b/);
  await turn();
  await speak(client, guest(), (w) => say.error(w, guest().last("Get").id, { code: 404, reason: "NotFound", message: "no b" }));
  await missing;
  const inspected = client.inspect();
  await turn();
  await speak(client, guest(), (w) => say.inspect(w, guest().last("Inspect").id, "collection.1.objects", 2));
  assert.deepEqual(await inspected, { "collection.1.objects": 2 });
});

test("an object that cannot be read is reported with its key", async () => {
  const { pods, client, guest } = await withCollection();
  for (const body of ["text", null]) {
    const refused = assert.rejects(pods.get("default/a"), { code: 500, message: /^default\/a: the body is not a JSON object: / });
    await turn();
    await speak(client, guest(), (w) => say.object(w, guest().last("Get").id, { key: "default/a", rv: 42, body }));
    await refused;
  }
});

test("a connection and a client are closed at the end of the block that declares them", async () => {
  const { engine, client } = await setup();
  assert.equal(engine.members, 1);
  {
    await using declared = client;
    declared.collection("v1/pods");
  }
  assert.equal(engine.members, 0);
  {
    await using declared = lazy(() => clientAt(engine));
    void declared.connect(); // still pending at the end of the block
  }
  assert.equal(engine.members, 0);
});

test("opened describes the open objects, with the IDs of inspect", async () => {
  const { pods, client, guest } = await withCollection();
  const view = pods.view({ sort: "name" });
  const watch = pods.watch({ labelSelector: "app=web" })[Symbol.asyncIterator]();
  const handle = client.object("v1/configmaps", "default/web", { owner: "detail page" });
  void client.inspect().catch(() => {}); // opened does not list pending requests
  await turn();
  await speak(client, guest(), (w) => say.changes(w, guest().last("OpenWatch").id, 1, [{ key: "default/a", rv: 8, body: named("default/a") }]));
  const [collection, ...others] = client.opened();
  assert.ok(collection?.type === "collection" && collection.collection === pods);
  assert.equal(collection.resource, "v1/pods");
  const of = collection.id;
  assert.deepEqual(others, [
    { type: "view", id: of + 1, of, options: { sort: "name" }, rows: 0 },
    { type: "watch", id: of + 2, of, options: { labelSelector: "app=web" }, queued: 1 },
    { type: "object", id: of + 3, resource: "v1/configmaps", key: "default/web", owner: "detail page", state: "connecting", error: undefined },
  ]);
  view.close();
  handle.close();
  await watch.return?.();
  assert.deepEqual(client.opened().map(({ type }) => type), ["collection"]);
  client.close();
  assert.deepEqual(client.opened(), []);
});

test("an update has the previous object if the watch asks for it, parsed on access", async () => {
  const { pods, client, guest } = await withCollection();
  const watch = pods.watch({ previous: true })[Symbol.asyncIterator]();
  await turn();
  const { id, payload } = guest().last("OpenWatch");
  assert.equal(payload.at(-1), 1);
  await speak(client, guest(), (w) => {
    say.changes(w, id, 1, [{ key: "default/a", rv: 8, body: named("default/a") }]);
    say.update(w, id, { key: "default/a", rv: 9, body: named("default/a") }, { key: "default/a", rv: 8, body: "no object" });
    say.update(w, id, { key: "default/a", rv: 10, body: named("default/a") }, { key: "default/a", rv: 9, body: named("default/a") });
  });
  const added = await next(watch);
  assert.ok(added.type === "ADDED" && added.previous === undefined);
  const broken = await next(watch);
  assert.ok(broken.type === "MODIFIED" && broken.object.metadata.resourceVersion === "9");
  assert.throws(() => broken.previous);
  const modified = await next(watch);
  assert.ok(modified.type === "MODIFIED");
  assert.equal(modified.previous?.metadata.resourceVersion, "9");
  assert.equal(modified.previous, modified.previous);
});

test("a watch yields events, parses on access, and throws the reason for its end", async () => {
  const { pods, client, guest } = await withCollection();
  const watch = pods.watch({ labelSelector: "app=web" })[Symbol.asyncIterator]();
  await turn();
  const id = guest().last("OpenWatch").id;
  await speak(client, guest(), (w) => {
    say.changes(w, id, 1, [{ key: "default/a", rv: 8, body: named("default/a") }]);
    say.changes(w, id, 3, [{ key: "default/a", rv: 9, flags: 2 }]);
    say.bookmark(w, id, 11, 4);
    say.watchClosed(w, id, "HistoryLost", gone);
  });
  const added = await next(watch);
  assert.ok(added.type === "ADDED");
  assert.equal(added.object.metadata.resourceVersion, "8");
  assert.equal(added.object, added.object);
  assert.equal(JSON.parse(JSON.stringify(added)).object.kind, "Pod");
  const deleted = await next(watch);
  assert.ok(deleted.type === "DELETED" && deleted.finalStateUnknown);
  assert.equal(deleted.object.kind, "Pod", "from the schema if there is no body");
  assert.deepEqual(await next(watch), { type: "BOOKMARK", resourceVersion: "11", initialEventsEnd: true });
  await assert.rejects(watch.next(), (e: unknown) => e instanceof WatchglassError && e.code === 410);
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
  assert.deepEqual(await watch.next(), { done: true, value: undefined });
  assert.equal(guest().count("CloseWatch"), 0);
});

test("a watch grants credit as its events are consumed", async () => {
  const { pods, client, guest } = await withCollection();
  const watch = pods.watch({ credit: 4 })[Symbol.asyncIterator]();
  await turn();
  const id = guest().last("OpenWatch").id;
  const item = (n: number) => ({ key: `default/${n}`, rv: 10 + n });
  await speak(client, guest(), (w) => say.changes(w, id, 1, [1, 2, 3, 4].map(item)));
  assert.equal(guest().count("GrantWatch"), 0);
  await next(watch);
  await turn();
  assert.equal(guest().count("GrantWatch"), 0);
  await next(watch);
  await turn();
  const r = new Reader(guest().last("GrantWatch").payload, "GrantWatch");
  assert.deepEqual([r.uint32(), r.uint32()], [id, 2]);
});

test("leaving the loop and aborting close the watch", async () => {
  const { pods, client, guest } = await withCollection();
  const seen = (async () => {
    for await (const event of pods.watch()) return event.type;
    return "";
  })();
  await turn();
  await speak(client, guest(), (w) => say.changes(w, guest().last("OpenWatch").id, 1, [{ key: "default/a" }]));
  assert.equal(await seen, "ADDED");
  await turn();
  assert.equal(guest().last("CloseWatch").id, guest().last("OpenWatch").id);

  const controller = new AbortController();
  const aborted = assert.rejects(pods.watch({ signal: controller.signal })[Symbol.asyncIterator]().next(), { name: "AbortError" });
  await turn();
  controller.abort();
  await aborted;
  await turn();
  assert.equal(guest().count("CloseWatch"), 2);
  await assert.rejects(pods.watch({ signal: controller.signal })[Symbol.asyncIterator]().next(), { name: "AbortError" });
  assert.equal(guest().count("OpenWatch"), 2);
});

test("a view keeps rows identical while they are unchanged", async () => {
  const { pods, client, guest } = await withCollection();
  const view = pods.view({ sort: "-Phase" });
  await turn();
  const id = guest().last("OpenView").id;
  const row = (key: string, rv: number, phase: string) => ({ key, rv, cells: [phase], labels: [["app", "web"]] as [string, string][] });
  const before = view.snapshot;
  await speak(client, guest(), (w) => say.rows(w, id, [row("default/a", 1, "Running"), row("default/b", 2, "Pending")]));
  await view.ready;
  const first = view.snapshot;
  assert.notEqual(first, before);
  assert.deepEqual(first.rows.map((r) => [r.key, r.columns[0], r.labels.app]), [["default/a", "Running", "web"], ["default/b", "Pending", "web"]]);
  assert.ok(Object.isFrozen(first) && Object.isFrozen(first.rows) && Object.isFrozen(first.rows[0]));
  await speak(client, guest(), (w) => say.patch(w, id, [[0, 0, [row("default/b", 3, "Running")]], [1, 1, []]]));
  assert.deepEqual(view.snapshot.rows.map((r) => r.resourceVersion), ["3", "1"]);
  assert.equal(view.snapshot.rows[1], first.rows[0]);
  assert.equal(view.snapshot, view.snapshot);
});

test("a refused query keeps the old one; an accepted one replaces it with its first patch", async () => {
  const { pods, client, guest } = await withCollection();
  const view = pods.view();
  await turn();
  const first = guest().last("OpenView").id;
  const a = { key: "default/a", rv: 1, cells: ["Running"] };
  await speak(client, guest(), (w) => say.rows(w, first, [a]));
  const row = view.snapshot.rows[0];

  const refused = assert.rejects(view.query({ sort: "nonsense" }), /unknown column/);
  await turn();
  await speak(client, guest(), (w) => say.rejected(w, 2, guest().last("OpenView").id, bad));
  await refused;
  await assert.rejects(view.query({ limit: 10_001 }), /from 0 to 10000/);
  assert.equal(view.snapshot.rows[0], row);
  assert.equal(guest().count("CloseView"), 0);

  const overtaken = view.query({ labelSelector: "app=web" });
  const accepted = view.query({ labelSelector: "app=api" });
  await turn();
  assert.equal(view.snapshot.rows[0], row);
  await speak(client, guest(), (w) => say.rows(w, guest().last("OpenView").id, [a]));
  await Promise.all([overtaken, accepted, view.ready]);
  assert.equal(view.snapshot.rows[0], row, "a row of both queries remains the same object");
  await turn();
  assert.equal(guest().last("CloseView").id, first);
  view.move(10, 50);
  await turn();
  assert.equal(guest().last("MoveView").id, guest().last("OpenView").id);
  view.close();
  view.close();
  await turn();
  assert.equal(guest().count("CloseView"), 3);
});

test("a failed engine is replaced, and everything is opened again", async (t) => {
  t.mock.method(console, "error", () => {});
  const { pods, client, guest, guests, network, id } = await withCollection();
  const view = pods.view();
  const fresh = pods.watch({ sendInitialEvents: true })[Symbol.asyncIterator]();
  const begun = pods.watch({ sendInitialEvents: true })[Symbol.asyncIterator]();
  await turn();
  const begunId = guest().last("OpenWatch").id;
  const resumable = pods.watch({ resourceVersion: "5" })[Symbol.asyncIterator]();
  const pending = pods.get("default/a");
  await turn();
  const resumableId = guest().last("OpenWatch").id;
  const viewId = guest().last("OpenView").id;
  await speak(client, guest(), (w) => {
    say.openStream(w, 1);
    say.rows(w, viewId, [{ key: "default/a", rv: 1, cells: ["Running"] }]);
    say.changes(w, begunId, 1, [{ key: "default/a", rv: 1 }]);
    say.changes(w, resumableId, 2, [{ key: "default/a", rv: 6 }]);
  });
  const row = view.snapshot.rows[0];

  guest().fault = new GuestError("index out of range", true);
  client.reconnect();
  await turn();
  assert.equal(pods.status.state, "reconnecting");
  assert.match(pods.status.error!.message, /index out of range/);
  assert.equal(view.snapshot.rows[0], row, "old data remains visible");
  assert.equal(network.dials[0]!.closed, "the reader restarts");

  await new Promise((resolve) => setTimeout(resolve)); // the engine starts the new guest with a timer
  await turn();
  assert.equal(guests.length, 2);
  assert.ok(guests[0]!.closed);
  assert.deepEqual(guest().commands.map((h) => h.name), ["OpenCollection", "OpenView", "OpenWatch", "OpenWatch", "Get"]);
  assert.equal(guest().last("OpenCollection").id, id);
  const r = new Reader(guest().last("OpenWatch").payload, "OpenWatch");
  r.uint32();
  r.uint32();
  for (let i = 0; i < 3; i++) r.text();
  assert.equal(r.text(), "6", "the watch resumes from its last event");

  assert.equal((await next(begun)).type, "ADDED");
  await assert.rejects(begun.next(), (e: unknown) => e instanceof WatchglassError && e.code === 410 && e.status.cause === "EngineReplaced");
  assert.ok((await begun.next()).done);

  await speak(client, guest(), (w) => {
    say.rows(w, viewId, [{ key: "default/a", rv: 1, cells: ["Running"] }]);
    say.object(w, guest().last("Get").id, { key: "default/a", body: named("default/a") });
    say.state(w, id, live, { rv: 9 });
  });
  assert.equal(view.snapshot.rows[0], row);
  assert.equal((await pending).kind, "Pod");
  assert.equal(pods.status.state, "live");
  assert.equal(pods.status.error, undefined);
  for (const watch of [fresh, resumable]) await watch.return?.();
});

test("closing the client ends everything, once", async () => {
  const { pods, client, guest, engine } = await withCollection();
  const pending = assert.rejects(pods.get("default/a"), /closed/);
  const waiting = assert.rejects(pods.watch()[Symbol.asyncIterator]().next(), /closed/);
  await turn();
  client.close();
  client.close();
  await Promise.all([pending, waiting]);
  assert.equal(pods.status.state, "closed");
  assert.throws(() => client.collection("v1/pods"), /closed/);
  assert.equal(guest().count("CloseCollection"), 1);
  assert.equal(engine.members, 0);
});

test("numbers out of range are refused before they are sent", async () => {
  const { pods } = await withCollection();
  assert.throws(() => pods.view({ offset: -1 }), /offset is -1/);
  assert.throws(() => pods.view({ limit: Number.NaN }), /limit is NaN/);
  assert.throws(() => pods.watch({ credit: 0.5 })[Symbol.asyncIterator](), /credit is 0.5/);
  await assert.rejects(pods.list({ limit: 2 ** 32 }), /limit is 4294967296/);
});
