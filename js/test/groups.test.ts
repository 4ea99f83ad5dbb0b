import assert from "node:assert/strict";
import { test } from "node:test";
import { groupQuery } from "../src/groups.js";
import { whereText } from "../src/query.js";

test("the query of a group adds conditions on its values, and drops groups, facets and the window", () => {
  const query = { namespaces: ["shop"], search: "pay", where: "a or b", sort: "age", groupBy: ["labels[a\"\\]", "Node"], aggregates: ["restarts"], facets: ["phase"], offset: 5, limit: 0, anchor: { key: "shop/pay" } };
  const { where, ...rest } = groupQuery(query, { values: ["1Gi", ""] });
  assert.deepEqual(rest, { namespaces: ["shop"], search: "pay", sort: "age" });
  assert.equal(whereText(where), String.raw`(a or b) and ("labels[a\"\\]" === 1Gi) and (Node === "")`);
  assert.equal(whereText(groupQuery({ groupBy: ["Node"] }, { values: ["n", ""] }).where), `Node === n`);
});
