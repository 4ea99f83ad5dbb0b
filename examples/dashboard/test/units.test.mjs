// Tests of the modules that need no browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const modules = ["columns", "dom", "export", "format", "json", "lines", "owned", "query", "relations", "resources", "selectors", "state", "window", "yaml"];
const folder = mkdtempSync(join(tmpdir(), "dashboard-units-"));
const m = {};

before(async () => {
  const { build } = createRequire(at("../../../js/package.json"))("esbuild");
  const entryPoints = modules.map((name) => at(`../src/${name}.ts`));
  await build({ entryPoints, outdir: folder, outExtension: { ".js": ".mjs" }, bundle: true, format: "esm" });
  for (const name of modules) Object.assign(m, await import(pathToFileURL(join(folder, `${name}.mjs`))));
});
after(() => rmSync(folder, { recursive: true }));

describe("ages are formatted like kubectl's", () => {
  const s = 1000, min = 60 * s, h = 60 * min, d = 24 * h;
  const cases = [
    [-5, "0s"], [119 * s, "119s"], [2 * min, "2m"], [3 * min + 5 * s, "3m5s"], [10 * min, "10m"], [179 * min, "179m"],
    [3 * h, "3h"], [7 * h + 59 * min, "7h59m"], [47 * h, "47h"], [2 * d, "2d"], [7 * d + 23 * h, "7d23h"], [729 * d, "729d"],
    [3 * 365 * d + 2 * d, "3y2d"], [9 * 365 * d, "9y"],
  ];
  for (const [ms, text] of cases) test(text, () => assert.equal(m.age(ms), text));
});

describe("cells are formatted like kubectl's", () => {
  const now = 1_800_000_000_000, minute = 60_000;
  const cases = [
    ["integer", 7, "7"], ["integer", 7, "7 (5m ago)", now - 5 * minute], ["string", null, "<none>"], ["string", "", "<none>"],
    ["string", "Started", "Started (5m ago)", now - 5 * minute], ["string", "", "5m ago", now - 5 * minute], ["string", "", "in 5m", now + 5 * minute],
    ["string", "", "0s ago", now],
    ["date", now - 3 * minute, "3m"], ["duration", 90_000, "90s"], ["duration", now - 90_000, "90s"], ["bool", false, "false"],
  ];
  for (const [kind, cell, text, time] of cases) {
    test(`${kind} ${cell} as ${text}`, () => {
      const row = { columns: ["", cell], times: time === undefined ? {} : { 1: time } };
      assert.equal(m.rowText({ kind, default: "<none>" }, row, 1, now), text);
    });
  }
});

test("a text that is only a time is exported as that time", () => {
  const at = 1_800_000_000_000;
  const exported = (cell, times) => m.exportValue({ own: { index: 0, column: { kind: "string", default: "<unset>" } }, value: () => cell }, { times }, at);
  assert.equal(exported("", { 0: at }), "2027-01-15T08:00:00.000Z");
  assert.equal(exported("Started", { 0: at }), "Started");
  assert.equal(exported("", {}), "");
});

test("the URL keeps the state", () => {
  const state = {
    resource: "apps/v1/deployments", namespace: "web", labelSelector: "app in (a, b)", fieldSelector: "metadata.name!=x&y",
    search: 'pay -"a b"', where: 'restarts > 3 and (labels[a/b] = "x&y" or not ready)', facets: { Status: ["Failed", ""], "Port(s)": ["80/TCP"] },
    sort: "-Age, name", wide: true, columns: ["Age", "Port(s)"], groupBy: ["Node", "labels[a/b]"], expanded: ['["node-1","x&y"]', '["",""]'], object: "web/x",
  };
  assert.deepEqual(m.parseHash(m.formatHash(state)), state);
  assert.deepEqual(m.parseHash(""), m.freshState("v1/pods"));
  assert.equal(m.formatHash(m.freshState("v1/nodes")), "#/v1/nodes");
  assert.deepEqual(m.parseHash("#/v1/pods?facet.=x&facet.A=b&facet.A=b&facet.__proto__=c&nonsense").facets, Object.fromEntries([["A", ["b"]], ["__proto__", ["c"]]]));
});

test("the visible rows stay in place when others come, go or move", () => {
  assert.equal(m.shiftOf([], false), 0);
  assert.equal(m.shiftOf([3, 3, 3], false), 3);
  assert.equal(m.shiftOf([-40, -2, -2, 60], false), -2, "rows that have moved do not count");
  assert.equal(m.shiftOf([0, 0, 9, 9, 9], true), 0, "an expanded group stays");
  const g = { rowHeight: 34, viewport: 340, total: 1000 };
  assert.equal(m.shifted(340, 2, g), 408);
  assert.equal(m.shifted(34, -2, g), 0);
});

test("values of facets are added and removed", () => {
  const both = m.withValue(m.withValue({}, "Status", "Failed"), "Status", "Pending");
  assert.deepEqual(both, { Status: ["Failed", "Pending"] });
  assert.deepEqual(m.withValue(both, "Status", "Failed"), both);
  assert.deepEqual(m.withoutValue(both, "Status", "Failed"), { Status: ["Pending"] });
  assert.deepEqual(m.withoutValue({ Status: ["Failed"], Node: ["n"] }, "Status", "Failed"), { Node: ["n"] });
  assert.deepEqual(m.withValue({}, "constructor", "x"), { constructor: ["x"] });
});

test("a query joins what the user typed and chose", () => {
  const state = { ...m.freshState("v1/pods"), namespace: "web", where: "a or b", search: "pay", sort: "-Age, name", facets: { Status: ["Failed", ""] } };
  const query = m.rowsQuery(state, ["Status", "namespace"], { namespaced: true }, ["Restarts"]);
  assert.deepEqual(query.where, { and: ["a or b", ["Status", "in", ["Failed", ""]]] });
  assert.deepEqual([query.namespace, query.search, query.sort, query.facets], ["web", "pay", "-Age, name", ["Status", "namespace"]]);
  assert.deepEqual(m.rowsQuery({ ...state, facets: { Other: ["x"] } }, ["Status"], { namespaced: false }, []).facets, ["Status", "Other"]);
  assert.equal(m.rowsQuery(state, [], { namespaced: false }, []).namespace, "");
  assert.deepEqual([query.groupBy, query.aggregates], [[], []]);
  const grouped = m.rowsQuery({ ...state, groupBy: ["Node"] }, [], { namespaced: true }, ["Restarts"]);
  assert.deepEqual([grouped.groupBy, grouped.aggregates], [["Node"], ["Restarts"]]);
});

test("facets are columns with few values, and the namespace", () => {
  const text = (name, priority = 0, kind = "string") => ({ name, kind, priority, path: "" });
  const columns = [text("Name"), text("Ready"), text("Status"), text("Restarts", 0, "integer"), text("IP", 1), text("Node", 1), text("Suspend", 0, "bool"), text("A"), text("B")];
  assert.deepEqual(m.facetNames({ columns, namespaced: true }), ["Status", "Ready", "Suspend", "A", "namespace"]);
  assert.deepEqual(m.facetNames({ columns: [], namespaced: false }), []);
});

test("fields of CSV are quoted, and no formulas for spreadsheets", () => {
  const line = (...values) => m.csvLine(values).replace(/\r\n$/, "");
  assert.equal(line("a", 'say "hi"', "a,b\nc", 3, -2.5, true, null, { app: "web", x: "" }), '"a","say ""hi""","a,b\nc",3,-2.5,true,,"app=web,x="');
  for (const text of ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n", "  =1", "\u00a0=1", "\0=1", "＝1", "＋1", "－1", "＠x"]) assert.equal(line(text), `"'${text}"`, JSON.stringify(text));
  for (const text of ["a=1", "1-1", "", "<none>", "a@b"]) assert.equal(line(text), `"${text}"`);
  assert.equal(line({ "=a": "1" }), `"'=a=1"`);
});

describe("an export", () => {
  /**
   * Returns a collection whose views contain their rows immediately. Moves of the views are
   * recorded in `moves`.
   */
  function fake(total, moves = []) {
    const views = [];
    const rows = ({ offset, limit }) => Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, i) => ({ key: String(offset + i) }));
    const view = (options) => {
      const listeners = new Set();
      const it = {
        state: "ready", snapshot: { total, rows: rows(options) },
        subscribe(listener) { listeners.add(listener); return () => listeners.delete(listener); },
        move(offset, limit) { moves.push([offset, limit]); it.snapshot = { total, rows: rows({ offset, limit }) }; },
        close() { it.state = "closed"; },
        change(part) { Object.assign(it, part); for (const listener of [...listeners]) listener(); },
      };
      views.push(it);
      return it;
    };
    return { view, views, moves };
  }
  const collect = (collection, bound, signal = new AbortController().signal, progress = () => {}) => m.collectRows(collection, {}, signal, progress, bound);

  for (const [total, bound, want] of [[0, 100, 0], [7, 100, 7], [10_000, 50_000, 10_000], [10_001, 50_000, 10_001], [30_000, 25_000, 25_000], [23_456, 50_000, 23_456]]) {
    test(`of ${total} rows has ${want} within ${bound}`, async () => {
      const [collection, steps] = [fake(total), []];
      const exported = await collect(collection, bound, undefined, (rows, all) => steps.push([rows, all]));
      assert.deepEqual(exported.rows.map(({ key }) => Number(key)), Array.from({ length: want }, (_, i) => i));
      assert.equal(exported.total, total);
      assert.deepEqual(steps.at(-1), [want, want]);
      assert.ok(collection.moves.every(([, limit]) => limit <= 10_000));
      assert.ok(collection.views.every(({ state }) => state === "closed"));
    });
  }
  test("has a row only once if it moves between windows", async () => {
    const collection = fake(10_001);
    const { rows } = await collect(collection, 50_000, undefined, (done) => {
      if (done === 10_001) collection.views[1].snapshot = { total: 10_001, rows: [{ key: "9999" }] };
    });
    assert.equal(rows.length, 10_000);
  });
  test("ends with an abort, and with an error of its view", async () => {
    const [collection, controller] = [fake(30_000), new AbortController()];
    await assert.rejects(collect(collection, 50_000, controller.signal, (rows) => rows > 5000 && controller.abort(new Error("enough"))), /enough/);
    assert.ok(collection.views.every(({ state }) => state === "closed"));
    const broken = fake(1);
    const view = broken.view;
    broken.view = (options) => Object.assign(view(options), { state: "loading" });
    const collected = collect(broken, 50_000);
    broken.views[0].change({ state: "error", error: { message: "no such column" } });
    await assert.rejects(collected, /no such column/);
  });
});

test("objects lead to those that belong to them", () => {
  const links = (resource, spec, metadata = { name: "x", namespace: "web" }) => m.relatedLinks(resource, { metadata, spec }).map(({ href }) => decodeURIComponent(href.replaceAll("+", " ")));
  const selector = { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "NotIn", values: ["a", "b"] }, { key: "x", operator: "Exists" }, { key: "y", operator: "DoesNotExist" }] };
  const text = "namespace=web&labelSelector=app=web,tier notin (a,b),x,!y";
  assert.deepEqual(links("apps/v1/deployments", { selector }), [`#/v1/pods?${text}`, `#/apps/v1/replicasets?${text}`]);
  assert.deepEqual(links("v1/services", { selector: { app: "web" } }), ["#/v1/pods?namespace=web&labelSelector=app=web"]);
  assert.deepEqual(links("v1/services", {}), []);
  assert.deepEqual(links("example.com/v1/things", { selector: { matchLabels: { a: "b" } } }), [], "its meaning is unknown");
  assert.deepEqual(links("v1/pods", { nodeName: "n" }), ["#/v1/nodes?object=n"]);
  assert.deepEqual(links("v1/nodes", {}, { name: "n,1" }), ["#/v1/pods?fieldSelector=spec.nodeName=n\\,1"]);
  const about = (involvedObject) => m.relatedLinks("v1/events", { metadata: { name: "e" }, involvedObject })[0]?.href;
  assert.equal(about({ kind: "Pod", namespace: "web", name: "a" }), "#/v1/pods?object=web%2Fa");
  assert.equal(about({ kind: "Node", namespace: "", name: "n" }), "#/v1/nodes?object=n");
  assert.equal(about({ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", namespace: "web", name: "p" }), "#/networking.k8s.io/v1/networkpolicies?object=web%2Fp");
  assert.deepEqual(["Pod", "Ingress", "StorageClass", "Gateway", "Endpoints"].map((kind) => m.resourceOf("v1", kind)), ["v1/pods", "v1/ingresses", "v1/storageclasses", "v1/gateways", "v1/endpoints"]);
});

test("a label is added once", () => {
  assert.equal(m.withLabel("", "app", "web"), "app=web");
  assert.equal(m.withLabel("tier in (a,b)", "app", "web"), "tier in (a,b),app=web");
  assert.equal(m.withLabel("x, app=web", "app", "web"), "x, app=web");
});

test("the position of a parser's error is found in its text", () => {
  const query = { search: "s", where: "ö > and", labelSelector: "ä in b", fieldSelector: "x=1" };
  const message = 'label selector "ä in b": at offset 6: expected "(" after in, found "b"';
  assert.deepEqual(m.faultOf(message, query), { input: "labelSelector", offset: 5 });
  assert.deepEqual(m.faultOf('field selector: unknown field "x"; …', query), { input: "fieldSelector" });
  assert.deepEqual(m.faultOf('condition "ö > and": at offset 5: expected a value', query), { input: "where", offset: 4 });
  assert.deepEqual(m.faultOf("the condition is longer than 4096 bytes", query), { input: "where" });
  assert.deepEqual(m.faultOf("the search has more than 30 words", query), { input: "search" });
  assert.equal(m.faultOf('cannot sort v1/pods by "x"', query), undefined);
});

describe("marks", () => {
  before(() => { globalThis.document = { createElement: (tag) => ({ tag }) }; });
  after(() => { delete globalThis.document; });
  const marked = (...args) => m.withMarks(...args).map((node) => (typeof node === "string" ? node : `[${node.textContent}]`)).join("");
  test("are at the ranges", () => {
    assert.equal(marked("pay-1 payment", [[0, 3], [6, 9]]), "[pay]-1 [pay]ment");
    assert.equal(marked("abc", []), "abc");
    assert.equal(marked("", []), "");
  });
  test("are cut at the ends of a part", () => {
    assert.equal(marked("app=web", [[1, 5]], 0, 3), "a[pp]");
    assert.equal(marked("app=web", [[1, 5]], 3), "[=w]eb");
  });
});

describe("the window follows the scrollbar", () => {
  const g = { rowHeight: 34, viewport: 680, total: 10_000 };
  test("positions and indexes agree", () => {
    assert.equal(m.contentHeight(g), 340_000);
    assert.equal(m.firstVisible(3400, g), 100);
    assert.equal(m.scrollTopFor(100, 0, g), (101 - 20) * 34);
    assert.equal(m.scrollTopFor(5, 0, g), 0);
    assert.equal(m.scrollTopFor(50, 3400, g), 50 * 34);
  });
  test("it moves only when its margin is used up", () => {
    const first = m.wantedWindow(0, g, { offset: 0, limit: 0 });
    assert.equal(first.offset, 0);
    assert.equal(m.wantedWindow(5, g, first), first);
    const moved = m.wantedWindow(500, g, first);
    assert.ok(moved.offset <= 500 && moved.offset + moved.limit >= 521);
  });
  test("a million rows still reach the end", () => {
    const huge = { ...g, total: 1_000_000 };
    const end = m.contentHeight(huge) - huge.viewport;
    assert.ok(m.contentHeight(huge) < 16_000_000);
    assert.equal(Math.round(m.firstVisible(end, huge)), 1_000_000 - 20);
    const top = m.scrollTopFor(999_999, 0, huge);
    assert.ok(Math.abs(m.firstVisible(top, huge) - 999_980) < 0.01);
  });
});

describe("documents", () => {
  const value = {
    apiVersion: "v1", list: [{ a: 1, b: [] }, "x", ["z"]], empty: {}, number: "5", time: "2026-01-01T00:00:00Z", cpu: "100m",
    flag: "--port", yes: "yes", none: null, colon: "a: b", text: "one\n two\n", tail: "one\ntwo",
  };
  test("YAML", () => {
    const text = m.yamlLines(value).map(m.lineText).join("\n");
    assert.equal(text, [
      "apiVersion: v1", "list:", "- a: 1", "  b: []", "- x", "- - z", "empty: {}", 'number: "5"', 'time: "2026-01-01T00:00:00Z"',
      "cpu: 100m", "flag: --port", 'yes: "yes"'.replace("yes:", '"yes":'), "none: null", 'colon: "a: b"',
      "text: |", "  one", "   two", "tail: |-", "  one", "  two",
    ].join("\n"));
  });
  test("JSON", () => {
    assert.deepEqual(JSON.parse(m.jsonLines(value).map(m.lineText).join("\n")), value);
  });
});

describe("sorting", () => {
  const restarts = { sort: "Restarts" }, age = { sort: "Age" };
  test("goes up, down, and back to keys", () => {
    assert.deepEqual(["", "Restarts", "-restarts", "-Age, Restarts"].map((sort) => m.nextSort(restarts, sort, false)), ["Restarts", "-Restarts", "", "-Restarts"]);
  });
  test("adds, reverses and removes one of several keys", () => {
    const sorts = [""];
    for (const column of [restarts, age, restarts, restarts]) sorts.push(m.nextSort(column, sorts.at(-1), true));
    assert.deepEqual(sorts.slice(1), ["Restarts", "Restarts, Age", "-Restarts, Age", "Age"]);
  });
  test("knows the position and direction of a column", () => {
    assert.deepEqual(m.orderOf(age, 'name, -age, "a,b"'), { index: 1, descending: true });
    assert.equal(m.orderOf(age, "name"), undefined);
    assert.equal(m.orderOf({ sort: "" }, "-"), undefined);
    assert.deepEqual(m.sortKeys(' name,, "a,b" nulls last , -Age'), ["name", '"a,b" nulls last', "-Age"]);
    assert.deepEqual(m.sortKeys('"a,b'), ['"a,b']);
  });
});

describe("the tree of owned objects", () => {
  const condition = (cells) => m.conditionOf({ cells });

  test("summarizes the columns of each kind", () => {
    assert.deepEqual(condition({ Ready: "1/2", Status: "Running", Restarts: 1200 }), { text: "Running · 1/2 ready · 1,200 restarts", status: "Running" });
    assert.deepEqual(condition({ Desired: 3, Current: 3, Ready: 3 }), { text: "3/3 ready", status: "ready" });
    assert.deepEqual(condition({ Desired: 0, Current: 0, Ready: 0 }), { text: "0/0 ready", status: "" });
    assert.deepEqual(condition({ Status: "Complete", Completions: "1/1" }), { text: "Complete · 1/1 completions", status: "Complete" });
    assert.deepEqual(condition({ Schedule: "@daily", Suspend: "True", Active: 2 }), { text: "suspended · 2 active", status: "" });
    assert.deepEqual(condition({ Age: 1 }), { text: "", status: "" });
  });

  test("opens the resources that an object may own", () => {
    assert.deepEqual(m.ownedResources("apps/v1/deployments"), ["apps/v1/replicasets", "v1/pods"]);
    assert.ok(m.ownedResources("argoproj.io/v1alpha1/rollouts").includes("apps/v1/replicasets"));
    for (const resource of ["v1/pods", "v1/configmaps", "networking.k8s.io/v1/ingresses", "batch/v1/toString"]) assert.deepEqual(m.ownedResources(resource), []);
  });
});

describe("columns about pods", () => {
  const state = { resource: "apps/v1/deployments", wide: false, columns: [], sort: "", where: "", groupBy: [], facets: {} };
  const names = (part) => m.joinedColumns({ ...state, ...part }).map(({ name }) => name);
  test("are opened for workloads when the state names them", () => {
    assert.deepEqual(names({}), []);
    for (const part of [{ wide: true }, { columns: ["Pods"] }, { sort: "-Pod states" }, { where: "pods > 3" }, { groupBy: ["Pods"] }, { facets: { "Pod states": ["x"] } }]) {
      assert.deepEqual(names(part), ["Pods", "Pod states"], JSON.stringify(part));
    }
    for (const resource of ["v1/pods", "v1/services", "v1/replicationcontrollers", "example.com/v1/things"]) assert.ok(!names({ resource, wide: true }).includes("Pods"), resource);
    const paths = (resource) => m.childColumns(resource).map(({ path }) => path);
    assert.deepEqual(paths("apps/v1/deployments"), ["apps/v1/replicasets,v1/pods", "apps/v1/replicasets,v1/pods Status"]);
    assert.deepEqual(paths("batch/v1/jobs"), ["v1/pods", "v1/pods Status"]);
  });
  test("are offered before they are opened", () => {
    const schema = { namespaced: true, resource: "deployments", columns: [{ name: "Ready", kind: "string", path: "", priority: 0, printer: "", default: "" }] };
    const offered = m.withOffered(schema, "apps/v1/deployments");
    assert.deepEqual(offered.columns.map(({ name }) => name), ["Ready", "Pods", "Pod states"]);
    assert.deepEqual(m.withOffered(offered, "apps/v1/deployments").columns.length, 3);
    assert.deepEqual(m.tableColumns(offered, false).map(({ title }) => title), ["Name", "Namespace", "Ready", "Labels"]);
    assert.deepEqual(m.withoutJoined(offered).columns.length, 1);
    assert.deepEqual(m.facetNames(offered), ["Ready", "namespace"]);
    assert.equal(m.withOffered(schema, "v1/services").columns.length, 1);
  });
});

describe("columns of metrics", () => {
  const own = { name: "Age", kind: "date", path: "", priority: 0, printer: "", default: "" };
  const joined = ["CPU", "Memory"].map((name) => ({ ...own, name, kind: "string", printer: "join", path: `metrics.k8s.io/v1beta1/pods ${name}` }));
  const schema = { namespaced: true, resource: "pods", columns: [own, ...joined] };
  test("are joined to pods and nodes", () => {
    assert.deepEqual(m.metricsColumns("v1/nodes").map(({ path }) => path), ["metrics.k8s.io/v1beta1/nodes CPU", "metrics.k8s.io/v1beta1/nodes Memory"]);
    assert.deepEqual(m.metricsColumns("v1/services"), []);
  });
  test("precede the age, and are no facets", () => {
    assert.deepEqual(m.tableColumns(schema, false).map(({ title }) => title), ["Name", "Namespace", "CPU", "Memory", "Age", "Labels"]);
    assert.deepEqual(m.facetNames(schema), ["namespace"]);
  });
  test("are left out where they have no values", () => {
    assert.deepEqual(m.tableColumns(m.withoutJoined(schema), false).map(({ title }) => title), ["Name", "Namespace", "Age", "Labels"]);
  });
});
