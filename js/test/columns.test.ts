// Tests of columns that a reader chooses, with a real connector and with one that is too old to
// support such columns.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { refuseSubscriptions } from "../src/edge/frames.js";
import { connect } from "../src/index.js";
import { TestCluster } from "../src/testing.js";
import type { CollectionOptions, Watchglass } from "../src/types.js";
import { Writer } from "../src/wire/codec.js";
import { optionsOf, skip } from "./cluster.js";
import { TestConnector } from "./connector.js";
import { noDemo, startDemo } from "./demo.js";

const columns: CollectionOptions["columns"] = [
  { name: "Node", kind: "string", path: ".spec.nodeName" },
  { name: "Phase", kind: "string", path: ".status.phase" },
  { name: "Images", kind: "string", path: ".spec.containers[*].image" },
];

interface Pod {
  spec: { nodeName?: string; containers: { image: string }[] };
  status: { phase?: string };
}

async function connected(t: TestContext, url: string): Promise<Watchglass> {
  const { wasm } = await optionsOf(new TestCluster());
  const wg = await connect(url, { wasm: wasm! });
  t.after(() => wg.close());
  return wg;
}

for (const options of [{}, { metadataOnly: true }, { rowsFirst: true }] as CollectionOptions[]) {
  test(`a connector computes the chosen columns ${JSON.stringify(options)}`, { skip: noDemo, timeout: 60_000 }, async (t) => {
    const { watch } = await startDemo(t, { pods: 50, rate: 20 });
    const wg = await connected(t, watch);
    const pods = wg.collection("v1/pods", { columns, ...options });
    const all = wg.collection<Pod & { metadata: { resourceVersion: string } } & Record<string, unknown>>("v1/pods");
    await Promise.all([pods.synced, all.synced]);
    assert.deepEqual(pods.schema!.columns.slice(0, 3).map(({ name }) => name), ["Node", "Phase", "Images"]);
    assert.equal(all.schema!.columns[0]!.name, "Ready");
    const view = pods.view({ sort: "node", facets: ["Phase"], limit: 1000 });
    await view.ready;
    for (let compared = 0, changes = 0; compared < 100 || changes < 10; changes++) {
      const changed = new Promise<void>((resolve) => {
        const stop = view.subscribe(() => (stop(), resolve()));
      });
      for (const { key, resourceVersion, cells } of view.snapshot.rows) {
        const object = await all.get(key).catch(() => undefined);
        if (object?.metadata.resourceVersion !== resourceVersion) continue;
        const { spec, status } = object;
        assert.deepEqual([cells["Node"], cells["Phase"], cells["Images"]], [spec.nodeName ?? null, status.phase ?? null, spec.containers.map(({ image }) => image).join(",")]);
        compared++;
      }
      await changed;
    }
    assert.ok(view.snapshot.facets["Phase"]!.values.some(([phase]) => phase === "Running"));
  });
}

test("errors of chosen columns have a name", { skip: noDemo, timeout: 60_000 }, async (t) => {
  const { watch } = await startDemo(t);
  const wg = await connected(t, watch);
  await assert.rejects(wg.collection("v1/pods", { columns: [{ name: "X", kind: "string", path: ".a[-1]" }] }).synced, { code: 400, message: /column "X": path ".a\[-1\]"/ });
  const many = Array.from({ length: 65 }, (_, i) => ({ name: `C${i}`, kind: "string" as const, path: ".a" }));
  await assert.rejects(wg.collection("v1/pods", { columns: many }).synced, (error: { status: { code: number; cause: string } }) => {
    assert.deepEqual([error.status.code, error.status.cause], [413, "max-columns"]);
    return true;
  });
});

test("a connector that does not compute columns is reported", { skip, timeout: 60_000 }, async (t) => {
  const connector = await TestConnector.start();
  t.after(() => connector.close());
  connector.put("default/a", "web", "Running");
  const wg = await connected(t, `ws://${connector.address}`);
  const pods = wg.collection("v1/pods", { columns });
  await assert.rejects(pods.synced, (error: { status: { code: number; cause: string } }) => {
    assert.deepEqual([error.status.code, error.status.cause], [400, "ColumnsUnsupported"]);
    return true;
  });
  assert.equal(pods.schema, undefined);
  const others = wg.collection("v1/pods");
  await others.synced;
});

test("an edge needs the bodies of objects whose columns a reader chooses", () => {
  const w = new Writer();
  w.frame(0x88, () => [2, 0].forEach((n) => w.uvarint(n)));
  for (const id of [1, 2, 3]) {
    w.frame(0x02, () => {
      w.uvarint(id);
      for (const text of ["v1/pods", "", "", ""]) w.text(text);
      for (const n of [0, 0]) w.uvarint(n);
      w.text("");
      for (const n of [0, 0, id < 3 ? 1 : 0, 0]) w.uvarint(n);
      w.text("");
      w.text("");
      w.uvarint(1);
    });
  }
  const without: boolean[] = [];
  refuseSubscriptions(w.take(), ({ metadataOnly }) => void without.push(metadataOnly));
  assert.deepEqual(without, [true, false, false]);
});
