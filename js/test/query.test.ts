// Tests of the queries of views, which the module evaluates.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { sortText, whereText } from "../src/query.js";
import { highlighter, splitSearch } from "../src/search.js";
import { TestCluster } from "../src/testing.js";
import type { Collection, Condition, Group, ViewOptions, ViewSnapshot } from "../src/types.js";
import { connected, skip, until } from "./cluster.js";
import { testdata } from "./paths.js";

const options = { skip, timeout: 60_000 };

interface Pod {
  app?: string;
  node?: string;
  phase?: string;
  cpu?: string;
}

/** Opens the pods of a new cluster. The keys of `all` are "namespace/name". */
async function pods(t: TestContext, all: Record<string, Pod>): Promise<{ cluster: TestCluster; collection: Collection }> {
  const cluster = new TestCluster();
  for (const [key, { app, node, phase, cpu }] of Object.entries(all)) {
    const [namespace, name] = key.split("/") as [string, string];
    cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels: { ...(app && { app }), ...(cpu && { cpu }) } },
      spec: { ...(node && { nodeName: node }) },
      status: { ...(phase && { phase }) },
    });
  }
  const wg = await connected(t, cluster);
  const collection = wg.collection("v1/pods");
  await collection.synced;
  return { cluster, collection };
}

async function show(collection: Collection, options: ViewOptions): Promise<ViewSnapshot> {
  using view = collection.view(options);
  await view.ready;
  return view.snapshot;
}

const names = ({ rows }: ViewSnapshot): string => rows.map(({ name }) => name).join(" ");

test("a view sorts by several keys, with numbers in texts by value", options, async (t) => {
  const { collection } = await pods(t, {
    "shop/web-10": { node: "node-9", app: "web" },
    "shop/web-9": { node: "node-10", app: "web" },
    "shop/api-1": { node: "node-10", app: "api" },
    "shop/job-1": {},
  });
  assert.equal(names(await show(collection, { sort: "name" })), "api-1 job-1 web-9 web-10");
  assert.equal(names(await show(collection, { sort: "name lexical" })), "api-1 job-1 web-10 web-9");
  assert.equal(names(await show(collection, { sort: "spec.nodeName, -name" })), "job-1 web-10 web-9 api-1");
  assert.equal(names(await show(collection, { sort: [{ by: "spec.nodeName", descending: true, nulls: "first" }, "name"] })), "job-1 api-1 web-9 web-10");
  assert.equal(names(await show(collection, { sort: [{ by: "labels[app]", nulls: "last" }, { by: "name", descending: true }] })), "api-1 web-10 web-9 job-1");
  await assert.rejects(show(collection, { sort: [{ by: "Statsu" }] }), /cannot sort v1\/pods by "Statsu"/);
});

test("sort keys are printed as text", () => {
  assert.equal(sortText(), "");
  assert.equal(sortText("-Age"), "-Age");
  assert.equal(sortText(["-Age", { by: "name" }]), "-Age, name");
  assert.equal(sortText([{ by: "Last Seen", descending: true, lexical: true, nulls: "last" }]), '-"Last Seen" lexical nulls last');
  assert.equal(sortText([{ by: "-a,b" }]), '"-a,b"');
  assert.throws(() => sortText([{ by: 'a"b' }]), { code: 400 });
});

test("a window stays at its anchor, and at its offset without one", options, async (t) => {
  const { cluster, collection } = await pods(t, Object.fromEntries([10, 11, 12, 13, 14].map((n) => [`shop/web-${n}`, {}])));
  using view = collection.view({ anchor: { key: "shop/web-12", before: 1 }, limit: 2 });
  const shown = (): string => `${view.snapshot.offset}: ${names(view.snapshot)}`;
  const add = (name: string) => cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "shop" } });
  await view.ready;
  assert.equal(shown(), "1: web-11 web-12");
  for (const name of ["a", "b", "c"]) add(name);
  await until(view, () => shown() === "4: web-11 web-12");
  cluster.delete("v1/pods", "shop/web-12");
  await until(view, () => shown() === "4: web-11 web-13");

  view.move(0, 3, { key: "shop/web-14" });
  await until(view, () => shown() === "6: web-14");
  await view.query({ sort: "-name", limit: 2, anchor: { key: "shop/web-13", before: 1 } });
  assert.equal(shown(), "0: web-14 web-13");
  view.move(2, 1, { key: "shop/absent", before: 1 });
  await until(view, () => shown() === "2: web-11");
  add("web-15");
  await until(view, () => shown() === "2: web-13");
});

test("a view searches names, namespaces, labels and columns", options, async (t) => {
  const { cluster, collection } = await pods(t, {
    "shop/pay-1": { app: "web", phase: "Running" },
    "shop/pay-2": { app: "web", phase: "Pending" },
    "test/pay-3": { app: "api", phase: "Running" },
    "shop/web-1": { app: "pay", phase: "Running" },
  });
  assert.equal(names(await show(collection, { search: "PAY running" })), "pay-1 web-1 pay-3");
  assert.equal(names(await show(collection, { search: "pay -test -app=pay" })), "pay-1 pay-2");
  assert.equal(names(await show(collection, { search: '"pay 1"' })), "");
  using view = collection.view({ search: "pending" });
  await view.ready;
  assert.equal(names(view.snapshot), "pay-2");
  cluster.update("v1/pods", "shop/pay-1", (pod) => (pod.status.phase = "Pending"));
  await until(view, () => names(view.snapshot) === "pay-1 pay-2");
  await assert.rejects(show(collection, { search: "a ".repeat(31) }), { code: 413, message: /max-search-words/ });
});

test("a view has conditions, as text and as objects", options, async (t) => {
  const { collection } = await pods(t, {
    "shop/web-1": { app: "web", node: "node-2", phase: "Running" },
    "shop/web-2": { app: "web", node: "node-10", phase: "Pending" },
    "shop/api-1": { app: "api", phase: "Failed" },
  });
  assert.equal(names(await show(collection, { where: "status.phase ~ ing and not spec.nodeName < node-3" })), "web-2");
  assert.equal(names(await show(collection, { where: { or: [["status.phase", "in", ["Failed", "Pending"]], ["labels[none]", "exists"]] } })), "api-1 web-2");
  assert.equal(names(await show(collection, { where: { and: [["age", "<", "1h"], ["age", "<=", new Date(Date.now() + 60_000)], { not: ["labels[app]", "=", "web"] }] } })), "api-1");
  await assert.rejects(show(collection, { where: "status.phase ~" }), { code: 400, message: /at offset 14: expected a value after ~, found the end/ });
});

test("a view counts several facets, each without its own condition", options, async (t) => {
  const { cluster, collection } = await pods(t, {
    "shop/web-1": { app: "web", phase: "Running" },
    "shop/web-2": { app: "web", phase: "Pending" },
    "shop/api-1": { app: "api", phase: "Running" },
    "pay/api-1": { app: "api", phase: "Failed" },
    "test/api-1": { app: "api", phase: "Running" },
  });
  using view = collection.view({
    namespaces: ["shop", "pay"],
    where: "status.phase = Running",
    facets: ["status.phase", "labels[app]", { by: "namespace", limit: 1 }],
    sort: "name",
  });
  await view.ready;
  assert.equal(names(view.snapshot), "api-1 web-1");
  assert.deepEqual(view.snapshot.facets["status.phase"], { values: [["Failed", 1], ["Pending", 1], ["Running", 2]], otherValues: 0, otherRows: 0 });
  assert.deepEqual(view.snapshot.facets["labels[app]"]?.values, [["api", 1], ["web", 1]]);
  cluster.update("v1/pods", "pay/api-1", (pod) => (pod.status.phase = "Running"));
  await until(view, () => names(view.snapshot) === "api-1 api-1 web-1");
  assert.deepEqual(view.snapshot.facets["namespace"], { values: [["shop", 2]], otherValues: 1, otherRows: 1 });
  assert.equal(names(await show(collection, { namespaces: [], sort: "name" })), "api-1 api-1 api-1 web-1 web-2");
  assert.throws(() => collection.view({ namespace: "shop", namespaces: ["pay"] }), { code: 400 });
  await assert.rejects(show(collection, { facets: Array(17).fill("name") }), { code: 413, message: /max-facets/ });
});

test("a view groups its rows, and another view shows the rows of a group", options, async (t) => {
  const { cluster, collection } = await pods(t, {
    "shop/web-1": { app: "web", phase: "Running", cpu: "250m" },
    "shop/web-2": { app: "web", phase: "Running", cpu: "1" },
    "shop/api-1": { phase: "Running", cpu: "none" },
    "pay/web-1": { app: "web", phase: "Failed" },
  });
  const groupBy = ["labels[app]", "status.phase"];
  using view = collection.view({ where: "not status.phase = Failed", groupBy, aggregates: ["labels[cpu]"], facets: ["status.phase", { by: "age", width: 86_400_000 }], limit: 0 });
  await view.ready;
  const none = { count: 0, sum: 0, min: 0, max: 0 };
  assert.deepEqual(view.snapshot.groups, {
    values: [
      { values: ["", "Running"], rows: 1, aggregates: [none] },
      { values: ["web", "Running"], rows: 2, aggregates: [{ count: 2, sum: 1.25, min: 0.25, max: 1 }] },
    ],
    otherValues: 0,
    otherRows: 0,
  });
  assert.deepEqual(view.snapshot.facets["status.phase"]?.values, [["Failed", 1], ["Running", 3]]);
  const [day = []] = view.snapshot.facets["age"]!.values;
  assert.equal(Number(day[0]) % 86_400_000, 0);
  assert.throws(() => ((view.snapshot.groups!.values as unknown[])[0] = none), TypeError, "a snapshot is frozen");
  cluster.update("v1/pods", "shop/web-2", (pod) => (pod.metadata.labels.cpu = "750m"));
  await until(view, () => view.snapshot.groups?.values[1]?.aggregates[0]?.max === 0.75);
  for (const [i, shown] of ["api-1", "web-1 web-2"].entries()) {
    const { values }: Group = view.snapshot.groups!.values[i]!;
    const where: Condition = { and: groupBy.map((name, j): Condition => (values[j] ? [name, "=", values[j]] : { not: [name, "exists"] })) };
    assert.equal(names(await show(collection, { where, sort: "name" })), shown);
  }
  await view.query({ limit: 0 });
  assert.equal(view.snapshot.groups, undefined);
});

test("a row has its cells by name", options, async (t) => {
  const { collection } = await pods(t, { "shop/web-1": { phase: "Running" } });
  const [row] = (await show(collection, {})).rows;
  for (const [i, { name }] of collection.schema!.columns.entries()) assert.equal(row!.cells[name], row!.columns[i], name);
  assert.ok(Object.keys(row!.cells).length > 0);
});

test("the cells of a row are one frozen object, until the row changes", options, async (t) => {
  const { cluster, collection } = await pods(t, { "shop/web-1": { phase: "Running" }, "shop/web-2": { phase: "Running" } });
  const view = collection.view({ sort: "name" });
  await view.ready;
  const [first, second] = view.snapshot.rows.map((row) => ({ row, cells: row.cells }));
  assert.equal(first!.row.cells, first!.cells);
  assert.ok(Object.isFrozen(first!.cells));
  assert.throws(() => Object.assign(first!.cells, { Status: "Failed" }), TypeError);
  cluster.update("v1/pods", "shop/web-1", (pod) => void ((pod as { status?: object }).status = { phase: "Failed" }));
  await until(view, () => view.snapshot.rows[0]!.resourceVersion !== first!.row.resourceVersion);
  assert.notEqual(view.snapshot.rows[0]!.cells, first!.cells);
  assert.equal(view.snapshot.rows[0]!.cells.Status, "Failed");
  assert.equal(first!.cells.Status, "Running");
  assert.equal(view.snapshot.rows[1]!.cells, second!.cells, "the cells of an unchanged row");
});

test("copies of a row have its cells", options, async (t) => {
  const { collection } = await pods(t, { "shop/web-1": { phase: "Running" } });
  const [row] = (await show(collection, {})).rows;
  assert.equal(Object.getOwnPropertyDescriptor(row, "cells")!.get, undefined, "a getter would double the memory of a row");
  for (const copy of [{ ...row! }, structuredClone(row!), JSON.parse(JSON.stringify(row)) as typeof row]) assert.deepEqual(copy!.cells, { ...row!.cells });
});

test("conditions are printed as text", () => {
  assert.equal(whereText(), "");
  assert.equal(whereText("a=b"), "a=b");
  assert.equal(whereText(["ready"]), "ready");
  assert.equal(whereText(["labels[app.kubernetes.io/name]", "exists"]), "labels[app.kubernetes.io/name] exists");
  assert.equal(whereText(["Last Seen", "<", "5m"]), '"Last Seen" < 5m');
  assert.equal(whereText(["phase", "!=", 'say "\\"']), 'phase != "say \\"\\\\\\""');
  assert.equal(whereText(["phase", "in", ["and", 3, true]]), 'phase in ("and", 3, true)');
  assert.equal(whereText(["memory", "===", ""]), 'memory === ""');
  assert.equal(whereText(["age", ">", new Date(0)]), 'age > "1970-01-01T00:00:00.000Z"');
  assert.equal(whereText({ and: [["a"], { or: ["b=1", ["c", "~", "x y"]] }, "", { not: ["d"] }] }), '(a) and ((b=1) or (c ~ "x y")) and (not (d))');
  assert.equal(whereText({ and: [] }), "");
  assert.equal(whereText({ and: [["a"]] }), "a");
  assert.equal(whereText({ or: ["", "a"] }), "");
  assert.throws(() => whereText({ or: [] }), { code: 400 });
  assert.throws(() => whereText({ not: "" }), { code: 400 });
  assert.throws(() => whereText(["a", "in", []]), { code: 400 });
  assert.throws(() => whereText(["a", "like" as "=", "b"]), { code: 400, message: /expected one of = == === != ~/ });
});

test("a condition as an object has every operator of core/query", options, async (t) => {
  // The type checker compares these keys with the operators in the type of a condition.
  type Operator = NonNullable<Extract<Condition, readonly unknown[]>[1]>;
  const selected: Record<Operator, [where: Condition, names: string]> = {
    "=": [["labels[cpu]", "=", "1Gi"], "a b"],
    "==": [["labels[cpu]", "==", "1Gi"], "a b"],
    "===": [["labels[cpu]", "===", "1Gi"], "a"],
    "!=": [["labels[cpu]", "!=", "1Gi"], "c d"],
    "~": [["labels[cpu]", "~", "GI"], "a c"],
    "!~": [["labels[cpu]", "!~", "gi"], "b d"],
    "<": [["labels[cpu]", "<", "2Gi"], "a b"],
    "<=": [["labels[cpu]", "<=", "2Gi"], "a b c"],
    ">": [["labels[cpu]", ">", "1Gi"], "c"],
    ">=": [["labels[cpu]", ">=", "1Gi"], "a b c"],
    in: [["labels[cpu]", "in", ["2Gi", "1Gi"]], "a b c"],
    notin: [["labels[cpu]", "notin", ["2Gi"]], "a b d"],
    exists: [["labels[cpu]", "exists"], "a b c"],
  };
  assert.deepEqual(Object.keys(selected), JSON.parse(readFileSync(testdata("query", "operators.json"), "utf8")));
  // @ts-expect-error -- "===" compares texts
  const number: Condition = ["labels[cpu]", "===", 1];
  assert.equal(whereText(number), "labels[cpu] === 1");
  const { collection } = await pods(t, { "shop/a": { cpu: "1Gi" }, "shop/b": { cpu: "1024Mi" }, "shop/c": { cpu: "2Gi" }, "shop/d": {} });
  for (const [where, expected] of Object.values(selected)) assert.equal(names(await show(collection, { where, sort: "name" })), expected, whereText(where));
});

test("searches are split as the engine does", () => {
  const cases = JSON.parse(readFileSync(testdata("query", "searches.json"), "utf8")) as { search: string; words: string[]; excluded: string[] }[];
  for (const { search, ...expected } of cases) assert.deepEqual(splitSearch(search), expected, JSON.stringify(search));
});

test("the words of a search are found in a text", () => {
  assert.deepEqual(highlighter("PAY run -x")("pay-1 Running payPAY"), [[0, 3], [6, 9], [14, 20]]);
  assert.deepEqual(highlighter("aa")("aaa"), [[0, 3]]);
  assert.deepEqual(highlighter("")("abc"), []);
  assert.deepEqual(highlighter("-a")("abc"), []);
  assert.deepEqual(highlighter("İ i")("İi"), [[0, 2]]);
});
