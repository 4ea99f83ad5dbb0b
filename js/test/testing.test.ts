// Tests of TestCluster, the in-memory cluster that programs use in their unit tests.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TestCluster } from "../src/testing.js";
import type { Row } from "../src/types.js";
import { connected, pod, skip as noModule, until } from "./cluster.js";

const options = { skip: noModule, timeout: 60_000 };
const names = (rows: readonly Row[]): string => rows.map(({ name }) => name).join();

test("a view shows the objects of the cluster, with the columns of kubectl, and follows them", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("web-1"));
  cluster.apply(pod("web-2", { phase: "Pending" }));
  cluster.apply(pod("api-1", { labels: { app: "api" } }));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  const view = pods.view({ labelSelector: "app=web", sort: "-name", facets: ["status.phase"] });
  await view.ready;
  assert.equal(names(view.snapshot.rows), "web-2,web-1");
  assert.deepEqual(view.snapshot.facets["status.phase"]?.values, [["Pending", 1], ["Running", 1]]);
  const phase = pods.schema!.columns.findIndex(({ name }) => name === "Status");
  assert.equal(view.snapshot.rows[0]!.columns[phase], "Pending");
  cluster.update("v1/pods", "default/web-2", (object) => (object.status.phase = "Running"));
  cluster.delete("v1/pods", "default/web-1");
  await until(view, () => names(view.snapshot.rows) === "web-2" && view.snapshot.rows[0]!.columns[phase] === "Running");
});

test("an object has the members that an API fills in, and is a copy", options, async (t) => {
  const cluster = new TestCluster();
  const input = pod("web");
  const { metadata } = cluster.apply(input);
  assert.deepEqual([metadata.uid, metadata.resourceVersion], ["uid-1", cluster.resourceVersion]);
  assert.match(String(metadata["creationTimestamp"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  (input["status"] as { phase: string }).phase = "changed by the test afterwards";
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  await pods.synced;
  assert.deepEqual((await pods.get("default/web"))["status"], { phase: "Running" });
  const again = cluster.apply(pod("web", { phase: "Failed" }));
  assert.deepEqual([again.metadata.uid, again.metadata["creationTimestamp"]], [metadata.uid, metadata["creationTimestamp"]]);
  assert.notEqual(again.metadata.resourceVersion, metadata.resourceVersion);
});

test("a lost connection is reported while the rows stay, and no change is missed", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  const view = pods.view();
  await pods.synced;
  await view.ready;
  cluster.cut();
  await until(pods, () => pods.status.state === "reconnecting");
  assert.match(pods.status.error!.message, /the test closed the connection/);
  assert.equal(names(view.snapshot.rows), "a");
  cluster.apply(pod("b"));
  cluster.delete("v1/pods", "default/a");
  cluster.restore();
  wg.reconnect();
  await until(pods, () => pods.status.state === "live");
  await until(view, () => names(view.snapshot.rows) === "b");
  const inspected = await wg.inspect();
  assert.deepEqual([inspected["collection.1.relists"], inspected["collection.1.resumes"]], [1, 1]);
});

test("a history that has expired is listed again", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  const view = pods.view();
  await pods.synced;
  cluster.cut();
  await until(pods, () => pods.status.state === "reconnecting");
  cluster.delete("v1/pods", "default/a");
  cluster.apply(pod("b"));
  cluster.expire();
  cluster.restore();
  wg.reconnect();
  await until(view, () => names(view.snapshot.rows) === "b");
  const inspected = await wg.inspect();
  assert.deepEqual([inspected["collection.1.relists"], inspected["collection.1.expired"]], [2, 1]);
});

test("an open watch ends with the history that expires", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  await pods.synced;
  cluster.expire();
  cluster.apply(pod("b"));
  const view = pods.view();
  await until(view, () => names(view.snapshot.rows) === "a,b");
  assert.equal((await wg.inspect())["collection.1.relists"], 2);
});

test("rights are revoked and restored", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const [pods, nodes] = [wg.collection("v1/pods"), wg.collection("v1/nodes")];
  await Promise.all([pods.synced, nodes.synced]);
  cluster.deny("v1/pods");
  await until(pods, () => pods.status.state === "forbidden");
  assert.deepEqual([pods.status.error!.code, nodes.status.state], [403, "live"]);
  cluster.allow("v1/pods");
  wg.reconnect();
  await until(pods, () => pods.status.state === "live");
});

test("a collection without the right to its resource is synced once the right is granted", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  cluster.deny("v1/pods");
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  let synced = "pending";
  pods.synced.then(() => (synced = "resolved"), () => (synced = "rejected"));
  await until(pods, () => pods.status.state === "forbidden");
  await assert.rejects(pods.view().ready, { code: 403 });
  await assert.rejects(pods.get("default/a"), { code: 403 });
  await assert.rejects(pods.list(), { code: 403 });
  assert.deepEqual([pods.status.state, pods.status.error!.code, synced], ["forbidden", 403, "pending"]);
  cluster.allow("v1/pods");
  wg.reconnect();
  await pods.synced;
  assert.equal((await pods.list()).items.length, 1);
  await assert.rejects(wg.collection("v1/absents").list(), { code: 404 });
});

test("the cluster applies selectors of a collection, and reports mistakes with their position", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a", { labels: { app: "web", tier: "data" } }));
  cluster.apply(pod("b", { labels: { app: "api" } }));
  cluster.apply(pod("c", { labels: {}, phase: "Pending" }));
  cluster.apply(pod("d", { namespace: "other", labels: { app: "web" } }));
  const wg = await connected(t, cluster);
  const chosen = async (scope: object): Promise<string> => {
    using pods = wg.collection("v1/pods", scope);
    return (await pods.synced, await pods.list()).items.map(({ metadata }) => metadata.name).join();
  };
  assert.equal(await chosen({ namespace: "default" }), "a,b,c");
  assert.equal(await chosen({ labelSelector: "app in (web,api),!tier" }), "b,d");
  assert.equal(await chosen({ labelSelector: "app!=web" }), "b,c");
  assert.equal(await chosen({ labelSelector: "app notin (web)" }), "b,c");
  assert.equal(await chosen({ labelSelector: "tier", namespace: "default" }), "a");
  assert.equal(await chosen({ fieldSelector: "status.phase!=Running" }), "c");
  const wrong = await cluster.fetch(`${cluster.url}/api/v1/pods?labelSelector=${encodeURIComponent("app in (")}`);
  assert.deepEqual([wrong.status, (await wrong.json() as { message: string }).message], [400, 'label selector "app in (": cannot parse "app in ("; expected a term such as app=web, app!=web, app in (web,api), app or !app']);
});

test("an object that stops matching a selector is deleted for its watches", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods", { labelSelector: "app=web" });
  const view = pods.view();
  await until(view, () => names(view.snapshot.rows) === "a");
  cluster.apply(pod("a", { labels: { app: "api" } }));
  await until(view, () => view.snapshot.total === 0);
});

test("a watch has the events that a Kubernetes API sends, and a bookmark after each change", async () => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const from = cluster.resourceVersion;
  cluster.apply(pod("b"));
  cluster.apply(pod("c", { labels: {} }));
  const abort = new AbortController();
  const query = new URLSearchParams({ watch: "1", labelSelector: "app=web", resourceVersion: from });
  const { body } = await cluster.fetch(`${cluster.url}/api/v1/pods?${query}`, { signal: abort.signal });
  const lines = body!.pipeThrough(new TextDecoderStream()).getReader();
  const next = async (): Promise<string> => {
    const { type, object } = JSON.parse((await lines.read()).value!) as { type: string; object: { metadata: { name?: string; resourceVersion: string } } };
    return `${type} ${object.metadata.name ?? ""} ${object.metadata.resourceVersion}`;
  };
  assert.deepEqual([await next(), await next()], ["ADDED b 3", "BOOKMARK  4"]);
  cluster.apply(pod("c", { labels: { app: "web" } }));
  cluster.apply(pod("c", { labels: { app: "web" }, phase: "Failed" }));
  cluster.apply(pod("c", { labels: {} }));
  cluster.apply(pod("c", { labels: {}, phase: "Failed" }));
  cluster.delete("v1/pods", "default/b");
  cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "n" } });
  const expected = ["ADDED c 5", "BOOKMARK  5", "MODIFIED c 6", "BOOKMARK  6", "DELETED c 7", "BOOKMARK  7", "BOOKMARK  8", "DELETED b 9", "BOOKMARK  9", "BOOKMARK  10"];
  for (const line of expected) assert.equal(await next(), line);
  abort.abort();
  await assert.rejects(next(), { name: "AbortError" });
  assert.deepEqual(cluster.watches, []);
});

test("a custom resource is discovered by its objects", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply({ apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "g", namespace: "default" }, spec: { size: 3 } });
  cluster.apply({ apiVersion: "example.com/v1", kind: "NetworkPolicy", metadata: { name: "p" } });
  cluster.apply({ apiVersion: "example.com/v1", kind: "Mouse", metadata: { name: "m" } }, "example.com/v1/mice");
  const wg = await connected(t, cluster);
  const gadgets = wg.collection("example.com/v1/gadgets", { columns: [{ name: "Size", kind: "integer", path: ".spec.size" }] });
  const view = gadgets.view();
  await view.ready;
  assert.equal(view.snapshot.rows[0]!.columns[0], 3); // the following columns are hidden and contain times
  for (const resource of ["networkpolicies", "mice"]) await wg.collection(`example.com/v1/${resource}`).synced;
  await assert.rejects(wg.collection("other.com/v1/things").list(), { code: 404 });
});

test("a resource is uninstalled with its objects, until an object of it is applied", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  await pods.synced;
  cluster.uninstall("v1/pods");
  await until(pods, () => pods.status.error?.code === 404);
  assert.deepEqual(cluster.watches, []);
  cluster.apply(pod("b"));
  wg.reconnect();
  await until(pods, () => pods.status.state === "live");
  assert.deepEqual((await pods.list()).items.map(({ metadata }) => metadata.name), ["b"]);
});

test("an unknown object is reported with the existing ones", () => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  assert.throws(() => cluster.delete("v1/pods", "default/b"), { message: 'the test cluster has no v1/pods "default/b"; it has default/a' });
  assert.throws(() => cluster.update("v1/nodes", "n", () => {}), /has no v1\/nodes "n"; it has none of them/);
});

test("a closed connection leaves no watch", options, async (t) => {
  const cluster = new TestCluster();
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  const view = pods.view();
  await view.ready;
  cluster.apply(pod("a"));
  await until(view, () => view.snapshot.total === 1);
  assert.deepEqual(cluster.watches, ["v1/pods"]);
  wg.close();
  assert.deepEqual(cluster.watches, []);
});

test("a program without IndexedDB continues after a warning about persist", options, async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const cluster = new TestCluster();
  cluster.apply(pod("web"));
  const wg = await connected(t, cluster, { persist: true, identity: "jane" });
  assert.equal((await wg.collection("v1/pods").list()).items.length, 1);
  assert.deepEqual(warn.mock.calls.map(({ arguments: args }) => args), [["watchglass: persistence is disabled: there is no IndexedDB here"]]);
});
