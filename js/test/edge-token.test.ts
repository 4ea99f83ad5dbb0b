// Tests of tokens and routes, with the same cases as host/access/token and host/edge.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { writeSubscriptionStatus } from "../src/wire/status.js";
import { feeds, inShard, parseClusters, objectFor, route, type EdgeObject, type Wanted } from "../src/edge/clusters.js";
import { region, upstreamOf } from "../src/edge/regions.js";
import { parseKeys, verify, type Claims } from "../src/edge/token.js";
import type { Status } from "../src/types.js";
import { Writer } from "../src/wire/codec.js";
import { testdata } from "./paths.js";

const read = (...path: string[]) => JSON.parse(readFileSync(testdata(...path), "utf8"));

test("tokens get the verdicts of the test vectors", async (t) => {
  const file = read("tokens", "vectors.json") as { keys: string; now: number; vectors: { name: string; token: string; message?: string; claims?: Claims }[] };
  const keys = await parseKeys(file.keys);
  assert.ok(file.vectors.length > 30);
  for (const { name, token, message, claims } of file.vectors) {
    await t.test(name, async () => {
      const expected = claims ?? { code: 401, reason: "Unauthorized", message };
      assert.deepEqual(await verify(keys, token, file.now * 1000), expected);
    });
  }
});

test("a token expires at its second", async () => {
  const { keys, now, vectors } = read("tokens", "vectors.json");
  const { token } = vectors.find(({ name }: { name: string }) => name === "a token for feeding");
  const verdict = async (millis: number) => "code" in (await verify(await parseKeys(keys), token, millis));
  assert.deepEqual([await verdict(now * 1000 + 999), await verdict(now * 1000 + 1000)], [false, true]);
});

test("weak keys are refused without showing them", async () => {
  for (const [text, want] of [["", /no key is given/], [" \n", /no key is given/], ["too-short", /^Error: key 1 has 9 bytes, expected at least 32/]] as const) {
    await assert.rejects(async () => parseKeys(text), (error: Error) => want.test(String(error)) && !error.message.includes("too-short"));
  }
});

test("resources are mapped to objects as in host/edge", () => {
  const { clusters, objects } = read("edge", "clusters.json");
  const objectOf = (cluster: string, ...resources: string[]) => {
    const found = objectFor(clusters, cluster, { resources });
    return "code" in found ? found : found.object;
  };
  for (const { cluster, resource, namespace, object, message } of objects) {
    const found = objectFor(clusters, cluster, { resources: [resource], namespace });
    assert.deepEqual("code" in found ? found : found.object, object ?? { code: 404, reason: "NotFound", message });
  }
  assert.equal(objectOf("split"), "split/pods");
  assert.equal(objectOf("split", "apps/v1/deployments", "apps/v1/replicasets"), "split/apps");
  assert.deepEqual(objectOf("split", "v1/pods", "v1/nodes"), {
    code: 400, reason: "BadRequest", message: "v1/pods and v1/nodes belong to different objects of this edge: connect once for each",
  });
  for (const name of ["none", "", "constructor", "__proto__"]) assert.equal((objectOf(name) as Status).code, 404);
  assert.deepEqual(objectFor(parseClusters(undefined), "default", { resources: [] }), { object: "default/all" });
});

test("resources divided by namespace are requested by namespace or by shard", () => {
  const { clusters } = read("edge", "clusters.json");
  const resources = ["v1/pods"];
  const refused = (wanted: Wanted, cluster = "divided") => objectFor(clusters, cluster, wanted) as Status;
  assert.deepEqual(objectFor(clusters, "divided", { resources, namespace: "web" }), { object: "divided/pods/1-of-3", shard: "1-of-3" });
  assert.deepEqual(objectFor(clusters, "divided", { resources, shard: "2-of-3" }), { object: "divided/pods/2-of-3", shard: "2-of-3" });
  assert.deepEqual(refused({ resources }), {
    code: 400, reason: "BadRequest",
    message: "v1/pods is divided by namespace over 3 objects of this edge, 0-of-3 to 2-of-3: connect with ?resource=v1/pods&namespace=NAME, or once for each of them with &shard=",
  });
  assert.deepEqual(refused({ resources: [] }), refused({ resources }), "the first group of the cluster");
  for (const shard of ["3-of-3", "0-of-16", "00-of-3", "-1-of-3", "x", "1-of-3 "]) {
    const { code, message } = refused({ resources, shard });
    assert.equal(code, 404, shard);
    assert.match(message, /^there is no shard .*: v1\/pods is divided by namespace over 3 objects/);
  }
  const { code, message } = refused({ resources, shard: "0-of-3" }, "default");
  assert.deepEqual([code, message], [404, "v1/pods is not divided by namespace at this edge, so there is no shard 0-of-3: connect without"]);
  for (let i = 0; i < 100; i++) {
    const { shard } = objectFor(clusters, "divided", { resources, namespace: `team-${i}` }) as EdgeObject;
    assert.deepEqual(["0-of-3", "1-of-3", "2-of-3"].filter((other) => inShard(`team-${i}`, other)), [shard]);
  }
});

test("a connector receives the objects that it must feed", () => {
  const { clusters } = read("edge", "clusters.json");
  assert.deepEqual(feeds(clusters, "divided", ["v1/pods", "v1/nodes", "v1/events", "v1/configmaps"]), [
    ...["0-of-3", "1-of-3", "2-of-3"].map((shard) => ({ resources: ["v1/pods", "v1/events"], shard })),
    { resources: ["v1/nodes", "v1/configmaps"] },
  ]);
  assert.deepEqual(feeds(clusters, "default", ["v1/pods", "v1/nodes"]), [{ resources: ["v1/pods", "v1/nodes"] }]);
  assert.equal((feeds(clusters, "some", ["v1/nodes"]) as Status).code, 404);
  assert.equal((feeds(clusters, "none", ["v1/nodes"]) as Status).code, 404);
});

test("readers are routed to a region on their continent", () => {
  const clusters = { default: { groups: [{ name: "pods", resources: ["v1/pods"] }], regions: 4 }, other: {}, divided: { groups: [{ name: "pods", resources: ["v1/pods"], shards: 3 }], regions: 1 } };
  assert.deepEqual(region(clusters, "default/pods", "EU", 0.99), { name: "default/pods@weur-3", hint: "weur" });
  assert.deepEqual(region(clusters, "default/pods", undefined, 0), { name: "default/pods@any-0", hint: undefined });
  assert.equal(region(clusters, "other/all", "EU", 0.5), undefined);
  const opened: string[] = [];
  const WATCHGLASS = { idFromName: (name: string) => opened.push(name), get: () => "home" as never };
  const env = { WATCHGLASS, WATCHGLASS_CLUSTERS: JSON.stringify(clusters) };
  for (const [name, wanted] of Object.entries({
    "default/pods@weur-3": { cluster: "default", resources: ["v1/pods"], shard: "" },
    "divided/pods/1-of-3@any-0": { cluster: "divided", resources: ["v1/pods"], shard: "1-of-3" },
  })) {
    const { object, ...rest } = upstreamOf(name, env);
    assert.deepEqual(rest, wanted);
    assert.equal(object(), "home");
  }
  assert.deepEqual(opened, ["default/pods", "divided/pods/1-of-3"]);
  const strangers = ["default/pods", "default/none@weur-3", "other/all@weur-3", "default/pods/0-of-3@any-0", "divided/pods@any-0", "divided/pods/0-of-2@any-0", "divided/pods/3-of-3@any-0"];
  for (const name of [undefined, ...strangers]) assert.deepEqual(upstreamOf(name, env).resources, [], name);
});

test("paths name a cluster, or mean the default one", () => {
  for (const [path, cluster, rest] of [
    ["/watch", "default", "/watch"],
    ["/clusters/demo/watch", "demo", "/watch"],
    ["/clusters/demo", "demo", "/"],
    ["/clusters//watch", "", "/watch"],
    ["/clustersX", "default", "/clustersX"],
  ] as const) {
    assert.deepEqual(route(path), { cluster, rest });
  }
});

test("a refusal is a frame that readers parse", () => {
  const { hex, value } = read("wire", "SubscriptionStatus.json") as { hex: string; value: { Subscription: number; Status: Record<string, never> } };
  const { Code: code, Reason: reason, Message: message, Cause: cause, RetryAfterSeconds: retryAfterSeconds } = value.Status;
  const w = new Writer();
  writeSubscriptionStatus(w, value.Subscription, { code, reason, message, cause, retryAfterSeconds } as never);
  assert.equal(Buffer.from(w.take()).toString("hex"), hex);
});
