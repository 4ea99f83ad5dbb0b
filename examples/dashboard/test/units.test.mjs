// The parts that need no browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const modules = ["columns", "dom", "format", "json", "lines", "query", "selectors", "state", "window", "yaml"];
const folder = mkdtempSync(join(tmpdir(), "dashboard-units-"));
const m = {};

before(async () => {
  const { build } = createRequire(at("../../../js/package.json"))("esbuild");
  const entryPoints = modules.map((name) => at(`../src/${name}.ts`));
  await build({ entryPoints, outdir: folder, outExtension: { ".js": ".mjs" }, bundle: true, format: "esm" });
  for (const name of modules) Object.assign(m, await import(pathToFileURL(join(folder, `${name}.mjs`))));
});
after(() => rmSync(folder, { recursive: true }));

describe("ages read as kubectl's", () => {
  const s = 1000, min = 60 * s, h = 60 * min, d = 24 * h;
  const cases = [
    [-5, "0s"], [119 * s, "119s"], [2 * min, "2m"], [3 * min + 5 * s, "3m5s"], [10 * min, "10m"], [179 * min, "179m"],
    [3 * h, "3h"], [7 * h + 59 * min, "7h59m"], [47 * h, "47h"], [2 * d, "2d"], [7 * d + 23 * h, "7d23h"], [729 * d, "729d"],
    [3 * 365 * d + 2 * d, "3y2d"], [9 * 365 * d, "9y"],
  ];
  for (const [ms, text] of cases) test(text, () => assert.equal(m.age(ms), text));
});

describe("cells read as kubectl's", () => {
  const now = 1_800_000_000_000, minute = 60_000;
  const cases = [
    ["integer", 7, "7"], ["integer", 7, "7 (5m ago)", now - 5 * minute], ["string", null, "<none>"], ["string", "", "<none>"],
    ["date", now - 3 * minute, "3m"], ["duration", 90_000, "90s"], ["duration", now - 90_000, "90s"], ["bool", false, "false"],
  ];
  for (const [kind, cell, text, time] of cases) {
    test(`${kind} ${cell} as ${text}`, () => {
      const row = { columns: ["", cell], times: time === undefined ? {} : { 1: time } };
      assert.equal(m.rowText({ kind, default: "<none>" }, row, 1, now), text);
    });
  }
});

test("the URL keeps the state", () => {
  const state = {
    resource: "apps/v1/deployments", namespace: "web", labelSelector: "app in (a, b)", fieldSelector: "metadata.name!=x&y",
    search: 'pay -"a b"', where: 'restarts > 3 and (labels[a/b] = "x&y" or not ready)', facets: { Status: ["Failed", ""], "Port(s)": ["80/TCP"] },
    sort: "-Age, name", wide: true, object: "web/x",
  };
  assert.deepEqual(m.parseHash(m.formatHash(state)), state);
  assert.deepEqual(m.parseHash(""), m.freshState("v1/pods"));
  assert.equal(m.formatHash(m.freshState("v1/nodes")), "#/v1/nodes");
  assert.deepEqual(m.parseHash("#/v1/pods?facet.=x&facet.A=b&facet.A=b&facet.__proto__=c&nonsense").facets, Object.fromEntries([["A", ["b"]], ["__proto__", ["c"]]]));
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
  const query = m.rowsQuery(state, ["Status", "namespace"], true);
  assert.deepEqual(query.where, { and: ["a or b", ["Status", "in", ["Failed", ""]]] });
  assert.deepEqual([query.namespace, query.search, query.sort, query.facets], ["web", "pay", "-Age, name", ["Status", "namespace"]]);
  assert.deepEqual(m.rowsQuery({ ...state, facets: { Other: ["x"] } }, ["Status"], false).facets, ["Status", "Other"]);
  assert.equal(m.rowsQuery(state, [], false).namespace, "");
});

test("facets are columns with few values, and the namespace", () => {
  const text = (name, priority = 0, kind = "string") => ({ name, kind, priority, path: "" });
  const columns = [text("Name"), text("Ready"), text("Status"), text("Restarts", 0, "integer"), text("IP", 1), text("Node", 1), text("Suspend", 0, "bool"), text("A"), text("B")];
  assert.deepEqual(m.facetNames({ columns, namespaced: true }), ["Status", "Ready", "Suspend", "A", "namespace"]);
  assert.deepEqual(m.facetNames({ columns: [], namespaced: false }), []);
});

test("a label is added once", () => {
  assert.equal(m.withLabel("", "app", "web"), "app=web");
  assert.equal(m.withLabel("tier in (a,b)", "app", "web"), "tier in (a,b),app=web");
  assert.equal(m.withLabel("x, app=web", "app", "web"), "x, app=web");
});

test("the place of a parser's error is found in its text", () => {
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
