// The parts that need no browser.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const modules = ["columns", "format", "json", "lines", "selectors", "state", "window", "yaml"];
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
    sort: "-Age", wide: true, object: "web/x",
  };
  assert.deepEqual(m.parseHash(m.formatHash(state)), state);
  assert.deepEqual(m.parseHash(""), m.freshState("v1/pods"));
  assert.equal(m.formatHash(m.freshState("v1/nodes")), "#/v1/nodes");
});

describe("field selectors are edited, not judged", () => {
  test("a demanded value is found", () => {
    assert.equal(m.demandedValue("a=b, status.phase==Running", "status.phase"), "Running");
    assert.equal(m.demandedValue("status.phase!=Running", "status.phase"), undefined);
    assert.equal(m.demandedValue("status.phase=", "status.phase"), "");
    assert.equal(m.demandedValue("type=a\\,b", "type"), "a,b");
  });
  test("a value replaces what was there", () => {
    assert.equal(m.withField("a=b,status.phase!=Failed", "status.phase", "Running"), "a=b,status.phase=Running");
    assert.equal(m.withField("", "type", "a,b"), "type=a\\,b");
    assert.equal(m.withoutField("status.phase=Running,a=b", "status.phase"), "a=b");
    assert.equal(m.withoutField("status.phaseX=1", "status.phase"), "status.phaseX=1");
  });
  test("a label is added once", () => {
    assert.equal(m.withLabel("", "app", "web"), "app=web");
    assert.equal(m.withLabel("tier in (a,b)", "app", "web"), "tier in (a,b),app=web");
    assert.equal(m.withLabel("x, app=web", "app", "web"), "x, app=web");
  });
});

test("the place of a parser's error is found in its text", () => {
  const message = 'label selector "ä in b": at offset 6: expected "(" after in, found "b"';
  assert.deepEqual(m.faultOf(message, "ä in b", ""), { language: "label", offset: 5 });
  assert.deepEqual(m.faultOf('field selector: unknown field "x"; …', "", "x=1"), { language: "field" });
  assert.equal(m.faultOf("something else", "", ""), undefined);
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
  const column = { sort: "Restarts", kind: "number" }, age = { sort: "Age", kind: "age" };
  test("goes up, down, and back to keys", () => {
    assert.deepEqual(["", "Restarts", "-Restarts"].map((sort) => m.nextSort(column, sort)), ["Restarts", "-Restarts", ""]);
  });
  test("reads ages from young to old", () => {
    assert.equal(m.nextSort(age, ""), "-Age");
    assert.equal(m.isDescending(age, "-Age"), false);
    assert.equal(m.isDescending(age, "Age"), true);
  });
});
