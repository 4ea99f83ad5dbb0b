// Tests of the informer with the real module and an in-memory cluster. The cases come from the
// tests and the documentation of client-node's informer.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { ListWatch, makeInformer, type Connection, type KubernetesObject } from "../src/informer.js";
import { TestCluster } from "../src/testing.js";
import type { KubeObject, Watchglass } from "../src/types.js";
import { clientOf, connected, pod, Recorder, skip as noModule } from "./cluster.js";

const options = { skip: noModule, timeout: 60_000 };
const nameOf = (object: KubernetesObject): string => object.metadata!.name!;
const names = (objects: readonly KubernetesObject[]): string => objects.map(nameOf).sort().join();

/** Records the events of an informer, such as "add a" or "error 403". */
function record(informer: ListWatch<KubeObject>): Recorder {
  const recorder = new Recorder();
  for (const verb of ["add", "update", "delete"] as const) informer.on(verb, (object) => recorder.add(`${verb} ${nameOf(object)}`));
  informer.on("connect", () => recorder.add("connect"));
  informer.on("error", (error) => recorder.add(`error ${error.statusCode}`));
  return recorder;
}

async function setup(t: TestContext, { path = "/api/v1/pods", pods = ["a", "b"], labelSelector = "", fieldSelector = "" } = {}) {
  const cluster = new TestCluster();
  for (const name of pods) cluster.apply(pod(name));
  const wg = await connected(t, cluster);
  const informer = new ListWatch<KubeObject>(path, wg, undefined, false, labelSelector, fieldSelector);
  t.after(() => informer.stop());
  return { cluster, wg, informer, events: record(informer) };
}

test("start resolves when the objects are loaded and reported as added", options, async (t) => {
  const { informer, events } = await setup(t);
  const started = informer.start();
  assert.deepEqual(informer.list(), []);
  await started;
  assert.deepEqual(events.drain(), ["connect", "add a", "add b"]);
  assert.equal(names(informer.list()), "a,b");
});

test("an informer with autoStart", options, async (t) => {
  const { wg } = await setup(t);
  const informer = new ListWatch<KubeObject>("/api/v1/pods", wg);
  t.after(() => informer.stop());
  await informer.start(); // the informer is already started, so this call only waits
  assert.equal(names(informer.list()), "a,b");
});

test("get and list by namespace", options, async (t) => {
  const { cluster, informer, events } = await setup(t);
  cluster.apply(pod("a", { namespace: "other" }));
  await informer.start();
  assert.equal(names(informer.list()), "a,a,b");
  assert.equal(names(informer.list("default")), "a,b");
  assert.equal(names(informer.list("other")), "a");
  assert.deepEqual(informer.list("none"), []);
  assert.equal(informer.get("a", "other")!.metadata.namespace, "other");
  assert.equal(informer.get("a"), undefined);
  assert.equal(informer.get("none", "default"), undefined);
  events.drain();
  cluster.delete("v1/pods", "default/a");
  assert.equal(await events.take(), "delete a");
  assert.equal(informer.get("a", "default"), undefined);
  assert.ok(informer.get("a", "other"), "the object with this name in another namespace remains");
});

test("objects without a namespace", options, async (t) => {
  const { cluster, informer } = await setup(t, { path: "/api/v1/nodes", pods: [] });
  cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } });
  await informer.start();
  assert.equal(informer.get("node-1")!.kind, "Node");
  assert.equal(names(informer.list()), "node-1");
});

test("a path of a namespace and a group", options, async (t) => {
  const { cluster, informer } = await setup(t, { path: "/apis/apps/v1/namespaces/default/deployments" });
  for (const namespace of ["default", "other"]) cluster.apply({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: `of-${namespace}`, namespace } });
  await informer.start();
  assert.equal(names(informer.list()), "of-default");
});

test("a path that is not a list is refused", () => {
  const cluster = {} as Watchglass;
  for (const path of ["pods", "/api/v1", "/api/v1/namespaces/default/pods/web", "/version"]) assert.throws(() => makeInformer(cluster, path), /is not the path of a list; expected one such as/);
});

test("changes reach their handlers, and an update has the previous state", options, async (t) => {
  const { cluster, informer, events } = await setup(t);
  await informer.start();
  events.drain();
  let [before, after] = ["", ""];
  informer.on("update", (object, previous) => {
    before = previous!.metadata.resourceVersion;
    after = object.metadata.resourceVersion;
  });
  const old = informer.get("a", "default")!.metadata.resourceVersion;
  cluster.apply(pod("c"));
  const updated = cluster.update("v1/pods", "default/a", (object) => (object.status.phase = "Failed"));
  cluster.delete("v1/pods", "default/b");
  assert.deepEqual(await events.takeAll(3), ["add c", "update a", "delete b"]);
  assert.deepEqual([before, after], [old, updated.metadata.resourceVersion]);
  assert.deepEqual(informer.get("a", "default")!["status"], { phase: "Failed" });
  assert.equal(informer.latestResourceVersion(), cluster.resourceVersion);
});

test("on and off of change apply to add, update and delete", options, async (t) => {
  const { cluster, informer, events } = await setup(t, { pods: [] });
  await informer.start();
  const seen: string[] = [];
  const listener = (object: KubeObject): void => void seen.push(nameOf(object));
  informer.on("change", listener);
  cluster.apply(pod("a"));
  cluster.apply(pod("a", { phase: "Failed" }));
  cluster.delete("v1/pods", "default/a");
  assert.deepEqual(await events.takeAll(4), ["connect", "add a", "update a", "delete a"]);
  assert.equal(seen.length, 3);
  informer.off("change", listener);
  cluster.apply(pod("b"));
  cluster.apply(pod("b", { phase: "Failed" }));
  cluster.delete("v1/pods", "default/b");
  await events.takeAll(3);
  assert.equal(seen.length, 3);
});

test("handlers can be added and removed within handlers, and one that throws does not affect others", options, async (t) => {
  const { cluster, informer } = await setup(t, { pods: [] });
  t.mock.method(console, "error", () => {});
  await informer.start();
  const events = new Recorder();
  const once = (): void => (events.add("once"), informer.off("add", once));
  const removed = (): void => events.add("removed");
  const failing = (): void => {
    throw new Error("a bug of the program");
  };
  informer.on("add", failing);
  informer.on("add", once);
  informer.on("add", removed);
  informer.on("add", ({ metadata }) => events.add(metadata.name));
  cluster.apply(pod("a"));
  assert.deepEqual(await events.takeAll(3), ["once", "removed", "a"]);
  informer.off("add", removed);
  informer.off("add", () => {}); // removing an unknown listener has no effect
  cluster.apply(pod("b"));
  assert.equal(await events.take(), "b");
});

test("an unknown verb throws", () => {
  const informer = makeInformer({} as Connection, "/api/v1/pods") as any;
  for (const verb of ["FOOBAR", "toString"]) {
    assert.throws(() => informer.on(verb, () => {}), { message: `Unknown verb: ${verb}` });
    assert.throws(() => informer.off(verb, () => {}), { message: `Unknown verb: ${verb}` });
  }
});

test("stop ends reports, and another start reports the changes since", options, async (t) => {
  const cluster = new TestCluster();
  for (const name of ["a", "b", "c"]) cluster.apply(pod(name));
  // Each start uses a new connection, so that no state of the previous connection remains.
  const informer = new ListWatch<KubeObject>("/api/v1/pods", { connect: () => connected(t, cluster), close() {}, async [Symbol.asyncDispose]() {} }, undefined, false);
  t.after(() => informer.stop());
  const events = record(informer);
  await informer.start();
  events.drain();
  await informer.stop();
  assert.equal(names(informer.list()), "a,b,c");
  cluster.delete("v1/pods", "default/b");
  cluster.update("v1/pods", "default/c", (object) => (object.status.phase = "Failed"));
  cluster.apply(pod("d"));
  let unknown: boolean | undefined;
  informer.on("delete", (_object, _previous, finalStateUnknown) => (unknown = finalStateUnknown));
  await informer.start();
  assert.deepEqual(events.drain(), ["connect", "delete b", "update c", "add d"]);
  assert.equal(unknown, true);
  assert.equal(names(informer.list()), "a,c,d");
});

test("an event in flight when the informer stops is reported after the next start", async () => {
  const waiting: ((result: { value: unknown; done: boolean }) => void)[] = [];
  const watch = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise((resolve) => waiting.push(resolve)), return: async () => ({ done: true }) }) });
  const collection = { status: { state: "live" }, subscribe: () => () => {}, close() {}, watch };
  const informer = makeInformer({ collection: () => collection } as unknown as Watchglass, "/api/v1/pods");
  const seen: string[] = [];
  informer.on("add", ({ metadata }) => seen.push(metadata.name));
  const started = informer.start();
  const sent = async (value: unknown): Promise<void> => {
    while (waiting.length === 0) await new Promise(setImmediate);
    waiting.shift()!({ value, done: false });
  };
  await sent({ type: "BOOKMARK", resourceVersion: "1", initialEventsEnd: true });
  await started;
  const sending = sent({ type: "ADDED", object: pod("a") });
  await informer.stop();
  await sending;
  await new Promise(setImmediate);
  assert.deepEqual([seen, informer.list()], [[], []]);
});

test("stop before the objects are loaded resolves start", options, async (t) => {
  const { cluster, informer, events } = await setup(t);
  cluster.cut();
  const started = informer.start();
  await informer.stop();
  await started;
  assert.deepEqual(events.drain(), []);
});

test("objects that stop matching the selector are deleted", options, async (t) => {
  const { cluster, informer, events } = await setup(t, { labelSelector: "app=web" });
  cluster.apply(pod("api", { labels: { app: "api" } }));
  await informer.start();
  assert.deepEqual(events.drain(), ["connect", "add a", "add b"]);
  cluster.apply(pod("a", { labels: { app: "api" } }));
  assert.equal(await events.take(), "delete a");
  cluster.apply(pod("api"));
  assert.equal(await events.take(), "add api");
});

test("a field selector selects objects, and an object that stops matching is deleted", options, async (t) => {
  const { cluster, informer, events } = await setup(t, { fieldSelector: "status.phase=Running" });
  cluster.apply(pod("c", { phase: "Pending" }));
  await informer.start();
  assert.deepEqual(events.drain(), ["connect", "add a", "add b"]);
  cluster.apply(pod("d", { phase: "Pending" }));
  cluster.apply(pod("a", { phase: "Failed" }));
  assert.equal(await events.take(), "delete a");
  cluster.apply(pod("c"));
  assert.equal(await events.take(), "add c");
  assert.equal(names(informer.list()), "b,c");
});

test("makeInformer passes its selectors to the informer", options, async (t) => {
  const { cluster, wg } = await setup(t);
  cluster.apply(pod("c", { labels: { app: "api" } }));
  cluster.apply(pod("d", { phase: "Pending" }));
  const informer = makeInformer(wg, "/api/v1/pods", undefined, "app=web", "status.phase=Running");
  t.after(() => informer.stop());
  await informer.start();
  assert.equal(names(informer.list()), "a,b");
});

test("a lost connection is reported, and the informer resumes", options, async (t) => {
  const { cluster, wg, informer, events } = await setup(t);
  await informer.start();
  events.drain();
  cluster.cut();
  assert.match(await events.take(), /^error 503/);
  cluster.apply(pod("c"));
  const running = informer.start(); // restarts the informer, as error handlers do with client-node
  cluster.restore();
  wg.reconnect();
  assert.deepEqual((await events.takeAll(2)).sort(), ["add c", "connect"]);
  await running;
  assert.equal((await wg.inspect())["collection.1.relists"], 1, "it has listed once");
});

test("after a 410 only the differences are reported", options, async (t) => {
  const { cluster, wg, informer, events } = await setup(t, { pods: ["a", "b", "c"] });
  await informer.start();
  events.drain();
  cluster.cut();
  assert.match(await events.take(), /^error 503/);
  cluster.delete("v1/pods", "default/a");
  cluster.update("v1/pods", "default/b", (object) => (object.status.phase = "Failed"));
  cluster.apply(pod("d"));
  let deleted: [previous: KubeObject | undefined, finalStateUnknown: boolean | undefined] | undefined;
  informer.on("delete", (_object, ...rest) => (deleted = rest as typeof deleted));
  cluster.expire();
  cluster.restore();
  wg.reconnect();
  const seen: string[] = [];
  while (seen.filter((event) => !/connect|error/.test(event)).length < 3) seen.push(await events.take());
  assert.deepEqual(seen.filter((event) => !/connect|error/.test(event)).sort(), ["add d", "delete a", "update b"]);
  assert.equal(names(informer.list()), "b,c,d");
  assert.deepEqual(deleted, [undefined, true], "the deletion itself was missed");
});

test("missing rights are reported, and the objects arrive after the grant", options, async (t) => {
  const { cluster, wg, informer, events } = await setup(t);
  cluster.deny("v1/pods");
  const started = informer.start();
  assert.equal(await events.take(), "error 403");
  cluster.allow("v1/pods");
  wg.reconnect();
  await started;
  assert.equal(names(informer.list()), "a,b");
});

test("an unknown resource is reported, and start waits until it is installed", options, async (t) => {
  const { cluster, wg, informer, events } = await setup(t, { path: "/apis/example.com/v1/gadgets" });
  const started = informer.start();
  assert.equal(await events.take(), "error 404");
  cluster.apply({ apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "g", namespace: "default" } });
  wg.reconnect();
  await started;
  assert.equal(names(informer.list()), "g");
});

test("a failed connection is reported", async () => {
  const informer = makeInformer({ connect: () => Promise.reject(new Error("no module")), close() {}, async [Symbol.asyncDispose]() {} }, "/api/v1/pods");
  const errors: string[] = [];
  informer.on("error", ({ message }) => errors.push(message));
  await informer.start();
  assert.deepEqual(errors, ["no module"]);
});

test("start connects the client, and stop closes the collection", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const client = await clientOf(t, cluster);
  const informer = makeInformer(client, "/api/v1/pods", async () => assert.fail("listed"));
  await informer.start();
  assert.equal(names(informer.list()), "a");
  await informer.stop();
  const inspected = await (await client.connect()).inspect();
  assert.deepEqual([inspected["collections"], inspected["watches"]], [0, 0]);
});
