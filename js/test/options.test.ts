// Tests that invalid view options are refused with a 400 that names the option, the error and the
// expected values.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { WatchglassError } from "../src/errors.js";
import { TestCluster } from "../src/testing.js";
import type { Collection, View, ViewOptions } from "../src/types.js";
import { connected, pod, skip } from "./cluster.js";

const environment = { skip, timeout: 60_000 };

async function pods(t: TestContext): Promise<Collection> {
  const cluster = new TestCluster();
  cluster.apply(pod("web-1"));
  const wg = await connected(t, cluster);
  const collection = wg.collection("v1/pods");
  await collection.synced;
  return collection;
}

function assertRefused(error: unknown, message: RegExp, options: string): void {
  assert.ok(error instanceof WatchglassError, `${options}: ${String(error)}`);
  assert.equal(error.code, 400, options);
  assert.match(error.message, message, options);
}

/** Options that the package itself refuses, and the expected error of each. */
const wrong: [options: unknown, message: RegExp][] = [
  [null, /^options is null, expected an object$/],
  ["name", /^options is "name", expected an object$/],
  [{ sort: 5 }, /^sort is 5, expected text or an array of keys$/],
  [{ sort: { by: "name" } }, /^sort is {"by":"name"}, expected text/],
  [{ sort: [5] }, /^a key of sort is 5, expected text or { by, /],
  [{ sort: [null] }, /^a key of sort is null, expected/],
  [{ sort: [{}] }, /^a key of sort is {}, expected/],
  [{ sort: [{ by: 'a"b' }] }, /^sort key "a\\"b" contains a double quote$/],
  [{ sort: [{ by: "name", nulls: "middle" }] }, /^nulls of sort is "middle", expected "first" or "last"$/],
  [{ where: 5 }, /^a condition of where is 5, expected text, \[name, operator, value\], { and }, { or } or { not }$/],
  [{ where: null }, /^a condition of where is null, expected/],
  [{ where: { status: "Running" } }, /^a condition of where is {"status":"Running"}, expected/],
  [{ where: { and: "ready" } }, /^a condition of where is {"and":"ready"}, expected/],
  [{ where: { and: ["ready", null] } }, /^a condition of where is null, expected/],
  [{ where: { or: [] } }, /^or in where has no conditions$/],
  [{ where: { not: "" } }, /^not in where has no condition$/],
  [{ where: [] }, /^the name in a condition of where is undefined, expected a string$/],
  [{ where: [5, "=", 1] }, /^the name in a condition of where is 5, expected a string$/],
  [{ where: ["name", "like", "x"] }, /^operator of name in where is "like", expected one of = == === != ~ /],
  [{ where: ["restarts", ">"] }, /^the value for restarts in where is undefined, expected a string, number, boolean or Date$/],
  [{ where: ["restarts", ">", Number.NaN] }, /^the value for restarts in where is NaN, expected/],
  [{ where: ["age", ">", new Date(Number.NaN)] }, /^the value for age in where is null, expected/],
  [{ where: ["name", "in", "x"] }, /^in of name in where needs an array of at least one value$/],
  [{ where: ["name", "in", [{}]] }, /^the value for name in where is {}, expected/],
  [{ facets: "status.phase" }, /^facets is "status.phase", expected an array of names and { by, limit, width }$/],
  [{ facets: [5] }, /^the name of a facet is undefined, expected a string$/],
  [{ facets: [null] }, /^the name of a facet is undefined, expected a string$/],
  [{ facets: [{ by: "status.phase", limit: -1 }] }, /^limit of facet status.phase is -1, expected a whole number/],
  [{ facets: [{ by: "restarts", width: 0.5 }] }, /^width of facet restarts is 0.5, expected a whole number/],
  [{ groupBy: "status.phase" }, /^groupBy is "status.phase", expected an array of strings$/],
  [{ groupBy: ["a", "b", "c"] }, /^groupBy has more than 2 names$/],
  [{ groupBy: ["a"], aggregates: [5] }, /^a member of aggregates is 5, expected a string$/],
  [{ search: 5 }, /^search is 5, expected a string$/],
  [{ namespaces: "default" }, /^namespaces is "default", expected an array of strings$/],
  [{ namespaces: [5] }, /^a member of namespaces is 5, expected a string$/],
  [{ namespaces: ["a"], namespace: "b" }, /^namespace and namespaces exclude each other$/],
  [{ namespace: ["a"] }, /^namespace is \["a"\], expected a string$/],
  [{ labelSelector: { app: "web" } }, /^labelSelector is {"app":"web"}, expected a string$/],
  [{ fieldSelector: 5 }, /^fieldSelector is 5, expected a string$/],
  [{ limit: "10" }, /^limit is "10", expected a whole number/],
  [{ limit: 20_000 }, /^limit is 20000, expected a whole number from 0 to 10000$/],
  [{ offset: 1.5 }, /^offset is 1.5, expected a whole number/],
  [{ anchor: "default/web" }, /^the key of anchor is undefined, expected a string$/],
  [{ anchor: { key: "default/web", before: -1 } }, /^before of anchor is -1, expected a whole number/],
];

test("options of a wrong type are refused before they reach the engine", environment, async (t) => {
  const collection = await pods(t);
  const view = collection.view();
  await view.ready;
  for (const [options, message] of wrong) {
    let opened: View | undefined;
    try {
      opened = collection.view(options as ViewOptions);
    } catch (error) {
      assertRefused(error, message, JSON.stringify(options));
    }
    assert.equal(opened, undefined, JSON.stringify(options));
    await view.query(options as ViewOptions).then(
      () => assert.fail(`the query ${JSON.stringify(options)} was accepted`),
      (error: unknown) => assertRefused(error, message, JSON.stringify(options)),
    );
  }
  await view.query({ sort: "name" });
  assert.equal(view.snapshot.total, 1, "the view is usable after refused queries");
  assert.equal(view.state, "ready");
});

test("the selectors of collections, lists and watches must be strings", environment, async (t) => {
  const collection = await pods(t);
  const labelSelector = { app: "web" } as unknown as string;
  const message = /^labelSelector is {"app":"web"}, expected a string$/;
  await assert.rejects(collection.list({ labelSelector }), { name: "WatchglassError", code: 400, message });
  assert.throws(() => collection.watch({ labelSelector })[Symbol.asyncIterator](), { name: "WatchglassError", code: 400, message });
});

/**
 * Options that only the engine can refuse, because it knows the columns, and the expected error of
 * each.
 */
const unknown: [options: ViewOptions, message: RegExp][] = [
  [{ sort: "Statsu" }, /^cannot sort v1\/pods by "Statsu": there is no such column or field; did you mean Status\? there are Ready, /],
  [{ sort: ["name", { by: "Statsu" }] }, /^cannot sort v1\/pods by "Statsu"/],
  [{ where: "Statsu = Running" }, /^condition "Statsu = Running": at offset 0: "Statsu": there is no such column or field; did you mean Status\?/],
  [{ where: { and: [["ready"], ["Statsu", "=", 1]] } }, /^condition "\(ready\) and \(Statsu = 1\)": at offset 13: "Statsu": /],
  [{ where: "restarts >" }, /^condition "restarts >": at offset 10: expected a value after >, found the end$/],
  [{ where: "age > yesterday" }, /^condition "age > yesterday": at offset 6: expected an age such as /],
  [{ facets: ["Statsu"] }, /^cannot count v1\/pods by "Statsu": there is no such column or field; did you mean Status\?/],
  [{ facets: [{ by: "status.phase", limit: 5000 }] }, /^a facet reports at most 1000 values; use a smaller limit$/],
  [{ groupBy: ["status.phase", "Statsu"] }, /^cannot count v1\/pods by "Statsu": there is no such column or field; did you mean Status\?/],
  [{ groupBy: ["status.phase"], aggregates: ["Statsu"] }, /^cannot aggregate v1\/pods by "Statsu"/],
  [{ labelSelector: "a=b=c" }, /^label selector "a=b=c": at offset 3: expected /],
  [{ fieldSelector: "spec.nope=1" }, /^field selector: unknown field "spec.nope"; supported fields: metadata.name, /],
];

test("names that the resource does not have are refused with the names that it has", environment, async (t) => {
  const collection = await pods(t);
  for (const [options, message] of unknown) {
    using view = collection.view(options);
    await view.ready.then(
      () => assert.fail(`the view ${JSON.stringify(options)} was accepted`),
      (error: unknown) => assertRefused(error, message, JSON.stringify(options)),
    );
    assert.equal(view.state, "error");
    assert.match(view.error!.message, message);
    await view.query({ sort: "name" }); // a refused first query leaves the view usable
    assert.deepEqual([view.state, view.error], ["ready", undefined]);
  }
});
