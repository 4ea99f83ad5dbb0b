// Tests of the parts of a TanStack DB query that the engine evaluates.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pushDown, type Expression, type Ordering } from "../src/pushdown.js";
import { compareResourceVersions } from "../src/index.js";

const ref = (path: string): Expression => ({ type: "ref", path: path.split(".") });
const call = (name: string, ...args: Expression[]): Expression => ({ type: "func", name, args });
const eq = (path: string, value: unknown): Expression => call("eq", ref(path), { type: "val", value });
const isIn = (path: string, value: unknown): Expression => call("in", ref(path), { type: "val", value });
const by = (path: string, direction: "asc" | "desc" = "asc", stringSort = "lexical"): Ordering => ({ expression: ref(path), compareOptions: { direction, stringSort } });

const fields = ["metadata.name", "metadata.namespace", "status.phase"];
const columns = [{ name: "Age", kind: "date", path: ".metadata.creationTimestamp", priority: 0, printer: "", default: "" }] as const;
const down = (query: Parameters<typeof pushDown>[0]) => pushDown(query, fields, [...columns]);
const selected = (where: Expression): string => {
  const { namespace, labelSelector, fieldSelector } = down({ where }).selectors;
  return [namespace, labelSelector, fieldSelector].join(" | ");
};

test("equality on labels, the namespace and selectable fields becomes selectors", () => {
  assert.equal(selected(eq("metadata.labels.app", "web")), " | app=web | ");
  assert.equal(selected(isIn("metadata.labels.app", ["web", "api"])), " | app in (web,api) | ");
  assert.equal(selected(eq("metadata.namespace", "default")), "default |  | ");
  assert.equal(selected(eq("status.phase", "Running")), " |  | status.phase=Running");
  assert.equal(selected(call("and", eq("metadata.namespace", "a"), call("and", eq("metadata.labels.app", "web"), eq("metadata.labels.tier", "data")), eq("metadata.name", "x"))), "a | app=web,tier=data | metadata.name=x");
  assert.equal(selected(call("and", eq("metadata.namespace", "a"), eq("metadata.namespace", "b"))), "a |  | metadata.namespace=b", "which matches nothing");
});

test("other conditions are evaluated by TanStack DB", () => {
  const left = [
    call("or", eq("metadata.labels.app", "web"), eq("metadata.labels.app", "api")),
    call("not", eq("metadata.labels.app", "web")),
    call("gt", ref("metadata.labels.app"), { type: "val", value: "web" }),
    eq("spec.nodeName", "n"), // selectors do not support this field
    eq("metadata.labels.app", "not a label value"),
    eq("metadata.labels.app", undefined),
    eq("status.phase", ""), // also selects objects without a phase
    eq("status.phase", "a,b=c"),
    isIn("status.phase", ["Running", "Pending"]),
    isIn("metadata.labels.app", []),
    isIn("metadata.labels.app", ["web", 1]),
    call("eq", ref("metadata.labels.app"), ref("metadata.labels.tier")),
    { type: "val", value: true },
  ];
  for (const where of left) assert.equal(selected(where), " |  | ", JSON.stringify(where));
});

test("a limit is pushed down where the engine has the same order and all conditions", () => {
  const where = eq("metadata.labels.app", "web");
  assert.deepEqual(down({ where, orderBy: [by("metadata.name", "desc")], limit: 5, offset: 10 }).window, { sort: "-name lexical", offset: 10, limit: 5 });
  assert.deepEqual(down({ orderBy: [by("metadata.creationTimestamp", "asc", "locale")], limit: 5 }).window, { sort: "Age", offset: 0, limit: 5 });
  for (const query of [
    { where, limit: 5 },
    { where, orderBy: [by("metadata.name")] },
    { where, orderBy: [by("metadata.name", "asc", "locale")], limit: 5 },
    { where, orderBy: [by("status.phase")], limit: 5 },
    { where, orderBy: [by("metadata.name"), by("metadata.namespace")], limit: 5 },
    { where: call("and", where, call("not", where)), orderBy: [by("metadata.name")], limit: 5 },
  ]) assert.equal(down(query).window, undefined, JSON.stringify(query));
});

test("resource versions compare as numbers of any length", () => {
  for (const [a, b, sign] of [["9", "10", -1], ["10", "9", 1], ["7", "7", 0], ["18446744073709551614", "18446744073709551615", -1]] as const) assert.equal(Math.sign(compareResourceVersions(a, b)), sign);
  assert.throws(() => compareResourceVersions("1", "x"), { message: '"x" is not a resource version; expected a decimal number such as "1042"' });
});
