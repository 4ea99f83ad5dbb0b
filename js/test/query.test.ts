// Queries of views, evaluated by the module.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { sortText } from "../src/query.js";
import { TestCluster } from "../src/testing.js";
import type { Collection, ViewOptions, ViewSnapshot } from "../src/types.js";
import { connected, skip } from "./cluster.js";

const options = { skip, timeout: 60_000 };

interface Pod {
  app?: string;
  node?: string;
  phase?: string;
}

/** Opens the pods of a cluster, by "namespace/name". */
async function pods(t: TestContext, all: Record<string, Pod>): Promise<{ cluster: TestCluster; collection: Collection }> {
  const cluster = new TestCluster();
  for (const [key, { app, node, phase }] of Object.entries(all)) {
    const [namespace, name] = key.split("/") as [string, string];
    cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, ...(app && { labels: { app } }) },
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
