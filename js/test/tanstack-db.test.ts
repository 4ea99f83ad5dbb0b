// Tests of TanStack DB with the real module and an in-memory cluster.
import "global-jsdom/register";
import { cleanup, configure, render, waitFor } from "@testing-library/react";
import { and, count, createCollection, createLiveQueryCollection, eq, ilike, or, type Collection } from "@tanstack/db";
import { useLiveQuery } from "@tanstack/react-db";
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createElement as h } from "react";
import { watchglassCollectionOptions, type WatchglassCollectionConfig } from "../src/tanstack-db.js";
import { TestCluster } from "../src/testing.js";
import type { KubeObject } from "../src/types.js";
import { connected, pod, skip as noModule, until } from "./cluster.js";

configure({ asyncUtilTimeout: 20_000 }); // generous for a busy machine

const options = { skip: noModule, timeout: 20_000 };

interface Pod {
  metadata: { name: string; namespace: string; uid: string; resourceVersion: string; creationTimestamp: string; labels: { app?: string; tier?: string } };
  spec?: { nodeName?: string };
  status: { phase: string };
}

async function setup(t: TestContext, config: Partial<WatchglassCollectionConfig> = {}, fill: (cluster: TestCluster) => void = () => {}) {
  const cluster = new TestCluster();
  for (const name of ["a", "b", "c"]) cluster.apply(pod(name));
  fill(cluster);
  const client = await connected(t, cluster);
  const pods = createCollection(watchglassCollectionOptions<Pod>({ client, resource: "v1/pods", ...config }));
  t.after(async () => {
    cleanup();
    for (const live of queries.splice(0)) await live.cleanup();
    await pods.cleanup();
  });
  return { cluster, client, pods };
}

/** The live queries of a test, which must be cleaned up before the collection that they read. */
const queries: Collection<any, any, any>[] = [];

const names = (pods: Iterable<{ metadata: { name: string } }>): string => [...pods].map(({ metadata }) => metadata.name).sort().join();

/** Resolves when `wanted` returns true. Calls `wanted` whenever the collection changes. */
function becomes(collection: Collection<any, any, any>, wanted: () => boolean): Promise<void> {
  const subscribe = (listener: () => void): (() => void) => {
    const subscription = collection.subscribeChanges(listener, { includeInitialState: true }); // otherwise the collection does not report deletions of existing objects
    return () => subscription.unsubscribe();
  };
  return until({ subscribe }, wanted);
}

/** Creates a live query and waits until it has loaded. */
async function query<Result extends object>(build: (q: any) => any): Promise<Collection<Result, any, any>> {
  const live = createLiveQueryCollection({ query: build, gcTime: 0 }) as unknown as Collection<Result, any, any>;
  queries.push(live);
  await live.preload();
  return live;
}

test("an eager collection is ready with all objects, and follows them", options, async (t) => {
  const { cluster, pods } = await setup(t);
  assert.equal(pods.utils.getStatus().state, "connecting");
  await pods.preload();
  assert.equal(names(pods.values()), "a,b,c");
  assert.equal(pods.get("default/a")!.status.phase, "Running");
  assert.equal(pods.utils.getStatus().state, "live");
  cluster.update("v1/pods", "default/a", (object) => (object.spec = { nodeName: "n" }));
  await becomes(pods, () => pods.get("default/a")!.spec?.nodeName === "n");
  cluster.update("v1/pods", "default/a", (object) => delete object.spec);
  cluster.update("v1/pods", "default/a", (object) => (object.status.phase = "Failed"));
  cluster.delete("v1/pods", "default/b");
  cluster.apply(pod("d"));
  await becomes(pods, () => names(pods.values()) === "a,c,d" && pods.get("default/a")!.status.phase === "Failed");
  assert.equal("spec" in pods.get("default/a")!, false, "an update replaces the object");
});

test("changes of a frame are one transaction", options, async (t) => {
  const { cluster, pods } = await setup(t);
  await pods.preload();
  const batches: number[] = [];
  pods.subscribeChanges((changes) => batches.push(changes.length));
  // As in a hidden page, there are no animation frames, and changes are reported once per second.
  Object.assign(globalThis, { requestAnimationFrame: () => 0, cancelAnimationFrame: () => {} });
  t.after(() => {
    for (const name of ["requestAnimationFrame", "cancelAnimationFrame"]) Reflect.deleteProperty(globalThis, name);
  });
  for (let i = 0; i < 100; i++) cluster.apply(pod(`many-${String(i).padStart(3, "0")}`));
  await becomes(pods, () => pods.size === 103);
  assert.equal(batches.reduce((sum, n) => sum + n, 0), 100);
  assert.ok(batches.length < 50, `${batches.length} transactions`);
});

test("a live query evaluates conditions without selectors: alternatives and parts of names", options, async (t) => {
  const { cluster, pods } = await setup(t);
  cluster.apply(pod("web-failed", { phase: "Failed" }));
  cluster.apply(pod("web-pending", { phase: "Pending" }));
  const live = await query<Pod>((q) =>
    q.from({ pod: pods }).where(({ pod }: any) => and(ilike(pod.metadata.name, "%web%"), or(eq(pod.status.phase, "Failed"), eq(pod.status.phase, "Pending")))));
  assert.equal(names(live.values()), "web-failed,web-pending");
  cluster.update("v1/pods", "default/web-failed", (object) => (object.status.phase = "Running"));
  await becomes(live, () => names(live.values()) === "web-pending");
});

test("two resources are joined, and the join follows both", options, async (t) => {
  const { cluster, client, pods } = await setup(t, {}, (cluster) => {
    for (const name of ["node-1", "node-2"]) cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name, labels: { zone: `zone of ${name}` } } });
    for (const name of ["a", "b"]) cluster.update("v1/pods", `default/${name}`, (object) => (object.spec = { nodeName: "node-1" }));
  });
  const nodes = createCollection(watchglassCollectionOptions<KubeObject>({ client, resource: "v1/nodes" }));
  const live = await query<{ pod: string; zone: string }>((q) =>
    q.from({ pod: pods })
      .innerJoin({ node: nodes }, ({ pod, node }: any) => eq(pod.spec.nodeName, node.metadata.name))
      .select(({ pod, node }: any) => ({ pod: pod.metadata.name, zone: node.metadata.labels.zone })));
  const shown = (): string => [...live.values()].map(({ pod, zone }) => `${pod} in ${zone}`).sort().join();
  assert.equal(shown(), "a in zone of node-1,b in zone of node-1");
  cluster.update("v1/pods", "default/b", (object) => (object.spec.nodeName = "node-2"));
  cluster.update("v1/nodes", "node-1", (object) => (object.metadata.labels.zone = "another zone"));
  await becomes(live, () => shown() === "a in another zone,b in zone of node-2");
  cluster.delete("v1/nodes", "node-2");
  await becomes(live, () => shown() === "a in another zone");
});

test("a React component shows a live query", options, async (t) => {
  const { cluster, pods } = await setup(t);
  const Phases = () => {
    const { data } = useLiveQuery((q) => q.from({ pod: pods }).groupBy(({ pod }) => pod.status.phase).select(({ pod }) => ({ phase: pod.status.phase, n: count(pod.metadata.uid) })));
    return h("p", {}, data.map(({ phase, n }) => `${phase} ${n}`).sort().join(", "));
  };
  const { findByText } = render(h(Phases));
  await findByText("Running 3");
  cluster.update("v1/pods", "default/a", (object) => (object.status.phase = "Failed"));
  await findByText("Failed 1, Running 2");
});

test("objects stay while the connection is lost, and missed changes arrive later", options, async (t) => {
  const { cluster, client, pods } = await setup(t);
  await pods.preload();
  const status = { subscribe: pods.utils.subscribeStatus };
  cluster.cut();
  await until(status, () => pods.utils.getStatus().state === "reconnecting");
  assert.equal(names(pods.values()), "a,b,c");
  cluster.delete("v1/pods", "default/a");
  cluster.expire();
  cluster.restore();
  client.reconnect();
  await becomes(pods, () => names(pods.values()) === "b,c");
  await until(status, () => pods.utils.getStatus().state === "live");
});

test("a collection of an absent resource reports the reason, and loads once it is installed", options, async (t) => {
  const { cluster, client } = await setup(t);
  const things = createCollection(watchglassCollectionOptions({ client, resource: "example.com/v1/things" }));
  t.after(() => things.cleanup());
  const loaded = things.preload();
  await until({ subscribe: things.utils.subscribeStatus }, () => things.utils.getStatus().error?.code === 404);
  assert.equal(things.utils.getStatus().state, "connecting");
  cluster.apply({ apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t", namespace: "default" } });
  client.reconnect();
  await loaded;
  assert.equal(names(things.values()), "t");
});

test("a collection that cannot be loaded fails its preload with the reason", options, async (t) => {
  const { client } = await setup(t);
  const things = createCollection(watchglassCollectionOptions({ client, resource: "things" }));
  t.after(() => things.cleanup());
  await assert.rejects(things.preload(), { code: 400 });
  assert.equal(things.utils.getStatus().state, "closed");
});

test("cleanup closes the collection, and another start opens it again", options, async (t) => {
  const { client, pods } = await setup(t);
  await pods.preload();
  await pods.cleanup();
  assert.equal((await client.inspect())["collections"], 0);
  await pods.preload();
  assert.equal(names(pods.values()), "a,b,c");
});

test("on demand, a query opens the objects it needs, and closes them afterwards", options, async (t) => {
  const { cluster, client, pods } = await setup(t, { syncMode: "on-demand" }, (cluster) => {
    cluster.apply(pod("api-1", { labels: { app: "api" } }));
    cluster.apply(pod("api-2", { labels: { app: "api" }, phase: "Failed" }));
  });
  const api = await query<Pod>((q) => q.from({ pod: pods }).where(({ pod }: any) => eq(pod.metadata.labels.app, "api")));
  assert.equal(names(api.values()), "api-1,api-2");
  assert.equal(names(pods.values()), "api-1,api-2", "the others are not decoded");
  const failed = await query<Pod>((q) => q.from({ pod: pods }).where(({ pod }: any) => eq(pod.status.phase, "Failed")));
  assert.equal(names(failed.values()), "api-2");
  assert.equal((await client.inspect())["watches"], 2);
  cluster.apply(pod("api-3", { labels: { app: "api" } }));
  cluster.update("v1/pods", "default/api-2", (object) => (object.status.phase = "Running"));
  await becomes(api, () => names(api.values()) === "api-1,api-2,api-3");
  await becomes(failed, () => failed.size === 0);
  assert.equal(pods.get("default/api-2")!.status.phase, "Running", "one query still uses it");
  await api.cleanup();
  await waitFor(() => assert.equal(pods.size, 0)); // polls, because a subscription would load all objects
  await failed.cleanup();
  assert.equal((await client.inspect())["watches"], 0);
});

test("on demand, a limit is a window that stays full", options, async (t) => {
  const { cluster, client, pods } = await setup(t, { syncMode: "on-demand" }, (cluster) => {
    for (let i = 0; i < 50; i++) cluster.apply(pod(`web-${String(i).padStart(2, "0")}`));
  });
  const live = await query<Pod>((q) => q.from({ pod: pods }).where(({ pod }: any) => eq(pod.metadata.labels.app, "web")).orderBy(({ pod }: any) => pod.metadata.name, "desc").limit(3));
  await becomes(live, () => names(live.values()) === "web-47,web-48,web-49");
  assert.ok(pods.size < 50, `${pods.size} objects are loaded for a limit of 3`);
  assert.ok((await client.inspect())["views"]! > 0);
  cluster.delete("v1/pods", "default/web-48");
  await becomes(live, () => names(live.values()) === "web-46,web-47,web-49");
  cluster.update("v1/pods", "default/web-47", (object) => (object.status.phase = "Failed"));
  await becomes(live, () => [...live.values()].some(({ status }) => status.phase === "Failed"));
  await live.cleanup();
  await waitFor(() => assert.equal(pods.size, 0)); // polls, because a subscription would load all objects
  assert.equal((await client.inspect())["views"], 0);
});

test("on demand, a query waits for missing rights", options, async (t) => {
  const { cluster, client } = await setup(t);
  cluster.deny("v1/pods");
  const pods = createCollection(watchglassCollectionOptions<Pod>({ client, resource: "v1/pods", syncMode: "on-demand", scope: { namespace: "default" } }));
  t.after(() => pods.cleanup());
  const live = query<Pod>((q) => q.from({ pod: pods }).where(({ pod }: any) => eq(pod.metadata.labels.app, "web")));
  await until({ subscribe: pods.utils.subscribeStatus }, () => pods.utils.getStatus().state === "forbidden");
  cluster.allow("v1/pods");
  client.reconnect();
  assert.equal(names((await live).values()), "a,b,c");
});
