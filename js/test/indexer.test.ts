// Tests of secondary indexes over the rows of a collection.

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { test } from "node:test";
import { connect } from "../src/index.js";
import { createIndexer, type IndexBy, type Indexer } from "../src/indexer.js";
import { TestCluster } from "../src/testing.js";
import type { Collection, KubeObject, Row } from "../src/types.js";
import { Reader } from "../src/wire/codec.js";
import { connected, skip, until } from "./cluster.js";
import { noDemo, startDemo } from "./demo.js";
import { fakePods, GuestError, say, turn } from "./fake.js";
import { built } from "./paths.js";

const options = { skip, timeout: 20_000 };

const names = (rows: readonly Row[]): string => rows.map(({ name }) => name).join(" ");

/** Returns a pod on a node. The UID of the pod is its name. */
const on = (nodeName: string | undefined, name: string, more: { app?: string; owner?: string; restarts?: number } = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "default",
    uid: name,
    ...(more.app && { labels: { app: more.app } }),
    ...(more.owner && { ownerReferences: [{ kind: "ReplicaSet", name: more.owner, uid: `uid-${more.owner}`, controller: true }] }),
  } as unknown as KubeObject["metadata"],
  spec: { ...(nodeName && { nodeName }) },
  status: { phase: "Running", containerStatuses: [{ restartCount: more.restarts ?? 0, ready: true }] },
});

test("an index has the rows of each value, by the names of queries and by functions", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(on("node-1", "b", { app: "web", owner: "web-1", restarts: 3 }));
  cluster.apply(on("node-1", "a", { app: "api" }));
  cluster.apply(on(undefined, "c"));
  const pods = (await connected(t, cluster)).collection("v1/pods");
  using indexer = createIndexer(pods, {
    node: "spec.nodeName",
    app: "labels[app]",
    toString: "metadata.labels[toString]",
    owner: "owner",
    uid: "UID",
    namespace: "Namespace",
    restarts: "restarts",
    phase: "status.phase",
    letters: ({ name, labels }) => [name, labels.app ?? [], name].flat(),
    single: ({ name }) => (name === "a" ? undefined : "other"),
  });
  assert.deepEqual([indexer.state, indexer.size, indexer.byIndex("node", "node-1")], ["loading", 0, []]);
  await indexer.ready;
  assert.deepEqual([indexer.state, indexer.error, indexer.size], ["ready", undefined, 3]);

  const content = (name: Parameters<typeof indexer.indexValues>[0]): string[] => indexer.indexValues(name).sort().map((value) => `${value}: ${names(indexer.byIndex(name, value))}`);
  assert.deepEqual(content("node"), [": c", "node-1: a b"]);
  assert.deepEqual(content("app"), [": c", "api: a", "web: b"]);
  assert.deepEqual(content("toString"), [": a b c"]);
  assert.deepEqual(content("owner"), [": a c", "uid-web-1: b"]);
  assert.deepEqual(content("uid"), ["a: a", "b: b", "c: c"]);
  assert.deepEqual(content("namespace"), ["default: a b c"]);
  assert.deepEqual(content("restarts"), ["0: a c", "3: b"]);
  assert.deepEqual(content("phase"), ["Running: a b c"]);
  assert.deepEqual(content("letters"), ["a: a", "api: a", "b: b", "c: c", "web: b"]);
  assert.deepEqual(content("single"), ["other: b c"]);
  assert.equal(indexer.get("default/b")?.cells["Restarts"], 3);
  assert.equal(indexer.get("default/d"), undefined);
  assert.ok(Object.isFrozen(indexer.byIndex("node", "node-1")));
  assert.throws(() => indexer.byIndex("nodes" as "node", ""), { code: 400, message: /there is no index "nodes"; there are node, app,/ });
});

test("an array of rows is the same until one of them changes, and only its listeners are called", options, async (t) => {
  const cluster = new TestCluster();
  for (const name of ["a", "b"]) cluster.apply(on("node-1", name));
  cluster.apply(on("node-2", "c"));
  const pods = (await connected(t, cluster)).collection("v1/pods");
  using indexer = createIndexer(pods, { node: "spec.nodeName" });
  const { byIndex, subscribeIndex } = { byIndex: indexer.byIndex.bind(indexer, "node"), subscribeIndex: indexer.subscribeIndex };
  const calls: string[] = [];
  for (const node of ["node-1", "node-2", "node-3"]) subscribeIndex("node", node, () => calls.push(`${node}: ${names(byIndex(node))}`));
  await indexer.ready;
  await until(indexer, () => calls.length > 0);
  assert.deepEqual(calls.splice(0), ["node-1: a b", "node-2: c"]);

  const [one, two] = [byIndex("node-1"), byIndex("node-2")];
  cluster.apply(on("node-3", "c"));
  await until(indexer, () => calls.length > 0);
  assert.deepEqual(calls.splice(0).sort(), ["node-2: ", "node-3: c"]);
  assert.equal(byIndex("node-1"), one);
  assert.deepEqual([names(two), byIndex("node-2"), byIndex("node-4")], ["c", [], []]);
  assert.deepEqual(indexer.indexValues("node").sort(), ["node-1", "node-3"]);

  const [, b] = one;
  cluster.update("v1/pods", "default/a", ({ metadata }) => (metadata.labels = { app: "web" }));
  await until(indexer, () => byIndex("node-1") !== one);
  assert.equal(byIndex("node-1")[1], b, "an unchanged row is the same object");
  assert.deepEqual(calls.splice(0), ["node-1: a b"]);

  // Several changes in one frame cause one call.
  for (const name of ["d", "e", "f"]) cluster.apply(on("node-4", name));
  let changes = 0;
  const stop = subscribeIndex("node", "node-4", () => changes++);
  subscribeIndex("node", "node-4", () => stop());
  await until(indexer, () => indexer.size === 6);
  assert.ok(changes > 0 && changes <= 3);
  const before = changes;
  cluster.delete("v1/pods", "default/d");
  await until(indexer, () => names(byIndex("node-4")) === "e f");
  assert.equal(changes, before, "a listener that was removed is not called");
});

test("rows stay over lost connections and relists, which change only what differs", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(on("node-1", "a"));
  cluster.apply(on("node-2", "b"));
  cluster.apply(on("node-3", "c"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  using indexer = createIndexer(pods, { node: "spec.nodeName" });
  await indexer.ready;
  const [one, two] = ["node-1", "node-2"].map((node) => indexer.byIndex("node", node));
  const seen = new Set<string>();
  indexer.subscribe(() => seen.add(names(indexer.byIndex("node", "node-1"))));

  cluster.cut();
  await until(pods, () => pods.status.state === "reconnecting");
  assert.equal(indexer.byIndex("node", "node-1"), one);
  assert.equal(indexer.state, "ready", "how current the rows are is the status of the collection");
  cluster.delete("v1/pods", "default/b");
  cluster.apply(on("node-2", "d"));
  cluster.expire();
  cluster.restore();
  pods.subscribe(() => pods.status.nextAttempt && wg.reconnect()); // reconnects without waiting for the backoff
  wg.reconnect();
  await until(indexer, () => names(indexer.byIndex("node", "node-2")) === "d");
  assert.equal(indexer.byIndex("node", "node-1"), one);
  assert.equal(names(two!), "b");
  assert.equal(indexer.size, 3);
  assert.deepEqual([...seen], ["a"]);
});

test("refused rows are an error with the last rows, until the collection recovers", options, async (t) => {
  const cluster = new TestCluster();
  cluster.deny("v1/pods");
  cluster.apply(on("node-1", "a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  using indexer = createIndexer(pods, { node: "spec.nodeName" });
  await assert.rejects(indexer.ready, { code: 403 });
  assert.deepEqual([indexer.state, indexer.error?.code], ["error", 403]);
  await assert.rejects(indexer.ready, { code: 403 });

  cluster.allow("v1/pods");
  wg.reconnect();
  await until(indexer, () => indexer.state === "ready");
  await indexer.ready;
  assert.deepEqual([names(indexer.byIndex("node", "node-1")), indexer.error], ["a", undefined]);

  cluster.deny("v1/pods");
  await until(pods, () => pods.status.state === "forbidden");
  assert.equal(names(indexer.byIndex("node", "node-1")), "a");
  cluster.apply(on("node-1", "b"));
  cluster.allow("v1/pods");
  wg.reconnect();
  await until(indexer, () => names(indexer.byIndex("node", "node-1")) === "a b");
  assert.equal(indexer.state, "ready");
});

test("invalid arguments are errors that name them", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(on("node-1", "a"));
  const pods = (await connected(t, cluster)).collection("v1/pods");
  assert.throws(() => createIndexer(pods, { node: 1 as unknown as IndexBy }), { code: 400, message: "index node is 1, expected a name or a function" });
  assert.throws(() => createIndexer(pods, {}, { labelSelector: 1 as never }), { code: 400, message: /labelSelector is 1/ });
  assert.throws(() => createIndexer(pods, {}, { signal: AbortSignal.abort(new Error("before")) }), /before/);
  assert.throws(() => createIndexer({} as Collection, {}), { code: 400, message: /not a collection that this package has opened/ });

  using unknown = createIndexer(pods, { node: "spec.node" });
  await assert.rejects(unknown.ready, { code: 400, message: /^cannot index v1\/pods by "spec.node": there is no such column or field; there are Ready,.*spec\.nodeName/ });
  assert.deepEqual([unknown.state, unknown.size], ["error", 0]);
  using selector = createIndexer(pods, {}, { labelSelector: "a b" });
  await assert.rejects(selector.ready, { code: 400 });
  assert.equal(pods.status.state, "live", "the collection is not affected");
});

test("an indexer has the selected part of a collection, and ends with it, with its signal, or when it is closed", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(on("node-1", "a", { app: "web" }));
  cluster.apply(on("node-1", "b", { app: "api" }));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  const abort = new AbortController();
  const indexers = [createIndexer(pods, { node: "spec.nodeName" }, { labelSelector: "app=web", signal: abort.signal }), createIndexer(pods, { node: "spec.nodeName" }), createIndexer(pods, { node: "spec.nodeName" })] as const;
  await Promise.all(indexers.map(({ ready }) => ready));
  const [web, closed, all] = indexers;
  assert.deepEqual([web, all].map((indexer) => names(indexer.byIndex("node", "node-1"))), ["a", "a b"]);
  const watches = (): number => wg.opened().filter(({ type }) => type === "watch").length;
  assert.equal(watches(), 3);
  cluster.update("v1/pods", "default/a", ({ metadata }) => (metadata.labels.app = "api"));
  await until(web, () => web.size === 0);

  const states: string[] = [];
  web.subscribe(() => states.push(web.state));
  abort.abort(new Error("the page was left"));
  assert.deepEqual(states, ["closed"]);
  await web.ready;
  closed.close();
  closed.close();
  assert.deepEqual([closed.state, closed.error?.message, watches()], ["closed", "the indexer is closed", 1]);
  pods.close();
  assert.deepEqual([all.state, names(all.byIndex("node", "node-1")), watches()], ["closed", "a b", 0]);
  assert.match(all.error!.message, /v1\/pods is closed/);

  const early = createIndexer(wg.collection("v1/pods"), {});
  early.close();
  await assert.rejects(early.ready, { code: 503 });
});

test("a function that throws is reported, and has no values for the row", options, async (t) => {
  const reported = t.mock.method(console, "error", () => {});
  const cluster = new TestCluster();
  for (const name of ["a", "b"]) cluster.apply(on("node-1", name));
  const pods = (await connected(t, cluster)).collection("v1/pods");
  using indexer = createIndexer(pods, {
    odd: ({ name }) => {
      if (name === "a") throw new Error("a is odd");
      return "even";
    },
  });
  await indexer.ready;
  assert.deepEqual([names(indexer.byIndex("odd", "even")), indexer.size], ["b", 2]);
  assert.match(String(reported.mock.calls[0]!.arguments[0]), /a is odd/);
});

const live = 2;
const running = (key: string, rv: number, cell = "Running") => ({ key, rv, cells: [cell] });

async function livePods() {
  const fake = await fakePods();
  await fake.respond((w) => (say.schema(w, fake.id), say.state(w, fake.id, live)));
  return { ...fake, watchId: () => fake.last("OpenWatch") };
}

test("rows are read again when the schema changes, and have their new values at once", async () => {
  const { pods, id, respond, watchId, guest } = await livePods();
  const indexer = createIndexer(pods, { phase: "phase" });
  await turn();
  await respond((w) => (say.changes(w, watchId(), 1, [running("default/a", 1)]), say.bookmark(w, watchId(), 1, 4)));
  await indexer.ready;
  const [before, first] = [indexer.byIndex("phase", "Running"), watchId()];
  await respond((w) => say.schema(w, id));
  assert.deepEqual([watchId(), guest().count("CloseWatch")], [first, 0], "the same schema changes nothing");

  const describe = async (...columns: string[]): Promise<void> => {
    const described = new Promise<void>((resolve) => void pods.subscribe(resolve));
    await respond((w) => say.schema(w, id, columns));
    await described;
    await turn();
  };
  await describe("Node", "Phase");
  assert.deepEqual([watchId() === first, guest().count("CloseWatch")], [false, 1]);
  assert.equal(indexer.byIndex("phase", "Running"), before);
  await respond((w) => (say.changes(w, watchId(), 1, [{ key: "default/a", rv: 1, cells: ["node-1", "Failed"] }]), say.bookmark(w, watchId(), 1, 4)));
  assert.deepEqual([indexer.byIndex("phase", "Running").length, names(indexer.byIndex("phase", "Failed")), indexer.size], [0, "a", 1]);

  await describe("Node");
  await respond((w) => (say.changes(w, watchId(), 1, [{ key: "default/a", rv: 1, cells: ["node-1"] }]), say.bookmark(w, watchId(), 1, 4)));
  assert.deepEqual([indexer.state, indexer.error?.code, indexer.size], ["error", 400, 1]);
  indexer.close();
});

test("rows stay when the engine is replaced or the history is lost, until the new ones are complete", async (t) => {
  t.mock.method(console, "error", () => {});
  const { pods, id, client, respond, watchId, guest } = await livePods();
  const indexer = createIndexer(pods, { phase: "phase" });
  await turn();
  await respond((w) => (say.changes(w, watchId(), 1, [running("default/a", 1), running("default/b", 2)]), say.bookmark(w, watchId(), 2, 4)));
  const [a] = indexer.byIndex("phase", "Running");

  guest().fault = new GuestError("index out of range", true);
  client.reconnect();
  await turn();
  await new Promise((resolve) => setTimeout(resolve)); // the engine starts the new guest with a timer
  await turn();
  assert.equal(pods.status.state, "reconnecting");
  assert.deepEqual([indexer.state, names(indexer.byIndex("phase", "Running"))], ["ready", "a b"]);
  await respond((w) => (say.schema(w, id), say.state(w, id, live)));
  await respond((w) => say.changes(w, watchId(), 1, [running("default/a", 1), running("default/c", 3)]));
  assert.equal(names(indexer.byIndex("phase", "Running")), "a b");
  await respond((w) => (say.changes(w, watchId(), 3, [{ key: "default/c", rv: 4 }]), say.bookmark(w, watchId(), 4, 4)));
  assert.equal(names(indexer.byIndex("phase", "Running")), "a");
  assert.equal(indexer.byIndex("phase", "Running")[0], a, "an unchanged row is the same object");

  const last = watchId();
  await respond((w) => say.watchClosed(w, last, "HistoryLost", { code: 410, reason: "Expired", message: "too old" }));
  await turn();
  assert.notEqual(watchId(), last);
  assert.equal(indexer.state, "ready");
  await respond((w) => (say.changes(w, last, 1, [running("default/x", 9)]), say.bookmark(w, watchId(), 4, 4)));
  assert.equal(indexer.size, 0, "the former watch has no effect");
  indexer.close();
});

test("events are granted as they are processed", async () => {
  const { pods, respond, watchId, guest } = await livePods();
  const indexer = createIndexer(pods, { phase: "phase" });
  await turn();
  const pod = (i: number) => running(`default/pod-${i}`, i + 1);
  for (let i = 0; i < 4; i++) await respond((w) => say.changes(w, watchId(), 1, Array.from({ length: 600 }, (_, j) => pod(600 * i + j))));
  await turn();
  const grants = guest().commands.filter(({ name }) => name === "GrantWatch").map(({ payload }) => {
    const r = new Reader(payload, "test");
    return [r.uint32(), r.uint32()];
  });
  assert.deepEqual(grants, [[watchId(), 1200], [watchId(), 1200]]);
  indexer.close();
  await turn();
  assert.equal(guest().count("CloseWatch"), 1);
});

/** Returns a generator of pseudorandom integers from 0 up to, but not including, a bound. */
function randomly(seed: number): (below: number) => number {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
}

// After random changes and interruptions, the test compares the indexes with a filter over all
// objects, and with the groups that the engine counts.
for (let seed = 1; seed <= 8; seed++) {
  test(`indexes equal a filter over the objects after random changes, seed ${seed}`, options, async (t) => {
    const random = randomly(seed);
    const cluster = new TestCluster();
    const wg = await connected(t, cluster, { maxHistory: 20 });
    const pods = wg.collection("v1/pods");
    const byName = { node: "spec.nodeName", app: "labels[app]", owner: "owner", restarts: "Restarts", name: "name" };
    const model = new Map<string, KubeObject>();
    const change = (): void => {
      const name = `pod-${random(30)}`;
      if (random(4) === 0 && model.delete(name)) return cluster.delete("v1/pods", `default/${name}`);
      const pick = (values: string[]): string => values[random(values.length)]!;
      const object = on(pick(["", "node-1", "node-2", "node-3"]), name, { app: pick(["", "web", "api"]), owner: pick(["", "set-1", "set-2"]), restarts: random(3) });
      model.set(name, object);
      cluster.apply(object);
    };
    for (let i = 0; i < 20; i++) change();
    pods.subscribe(() => pods.status.nextAttempt && wg.reconnect()); // reconnects without waiting for the backoff
    using indexer = createIndexer(pods, { ...byName, initials: ({ name, labels }: Row) => [name.slice(-1), labels["app"]?.[0] ?? []].flat() });
    const { node, app, owner, restarts, name, initials } = expected;
    const filters = { node, app, owner, restarts, name, initials };
    /** Reports whether every index contains exactly the rows that a filter over the model finds. */
    const equal = (): boolean => {
      const objects = [...model.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
      return Object.entries(filters).every(([index, valuesOf]) => {
        const values = [...new Set(objects.flatMap(valuesOf))];
        const found = values.map((value) => names(indexer.byIndex(index as "node", value)));
        const filtered = values.map((value) => objects.filter((object) => valuesOf(object).includes(value)).map(({ metadata }) => metadata.name).join(" "));
        return indexer.size === objects.length && indexer.indexValues(index as "node").length === values.length && found.join() === filtered.join();
      });
    };
    // At any time, each row in an index is the current row of its object, and has the value under
    // which it is indexed.
    indexer.subscribe(() => {
      for (const value of indexer.indexValues("node")) {
        for (const row of indexer.byIndex("node", value)) {
          assert.equal(indexer.get(row.key), row);
          assert.equal(row.fields[pods.schema!.fields.indexOf("spec.nodeName")], value);
        }
      }
    });
    await pods.synced;
    for (let round = 0; round < 8; round++) {
      for (let i = random(60); i > 0; i--) change();
      const interruption = random(5);
      if (interruption < 2) {
        cluster.cut();
        await until(pods, () => pods.status.state === "reconnecting");
        change();
      }
      if (interruption > 0 && interruption < 3) cluster.expire();
      cluster.restore();
      wg.reconnect();
      await until(indexer, equal);
    }
    const groups = pods.view({ groupBy: ["spec.nodeName"], limit: 0 });
    await groups.ready;
    const counted = (): string => groups.snapshot.groups!.values.map(({ values: [value], rows }) => `${value}: ${rows}`).join();
    const own = indexer.indexValues("node").sort().map((value) => `${value}: ${indexer.byIndex("node", value).length}`).join();
    await until(groups, () => counted() === own);
  });
}

type Filter = (object: any) => string[];
const expected: Record<"node" | "app" | "owner" | "restarts" | "name" | "initials", Filter> = {
  node: ({ spec }) => [spec.nodeName ?? ""],
  app: ({ metadata }) => [metadata.labels?.app ?? ""],
  owner: ({ metadata }) => [metadata.ownerReferences?.[0].uid ?? ""],
  restarts: ({ status }) => [String(status.containerStatuses[0].restartCount)],
  name: ({ metadata }) => [metadata.name],
  initials: ({ metadata }) => [metadata.name.slice(-1), metadata.labels?.app?.[0] ?? []].flat(),
};

test("indexes of a real connector have the rows that its groups count", { skip: skip || noDemo, timeout: 60_000 }, async (t) => {
  const { compile } = await import("../src/guest.js");
  const wg = await connect((await startDemo(t, { pods: 200, rate: 1 })).watch, { wasm: await compile(pathToFileURL(built("watchglass.wasm"))) });
  t.after(() => wg.close());
  const pods = wg.collection("v1/pods");
  using indexer: Indexer<"node" | "status"> = createIndexer(pods, { node: "spec.nodeName", status: "Status" });
  const groups = pods.view({ groupBy: ["spec.nodeName", "status"], limit: 0 });
  await Promise.all([indexer.ready, groups.ready]);
  const same = (): boolean =>
    groups.snapshot.total >= 100 && groups.snapshot.groups!.values.every(({ values: [node, status], rows }) => indexer.byIndex("node", node).filter((row) => row.cells["Status"] === status).length === rows);
  await Promise.race([until(indexer, same), until(groups, same)]);
});
