// Tokens and places: what host/access/token and host/edge say, said here.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { writeSubscriptionStatus } from "../src/edge/frames.js";
import { parseClusters, place, route } from "../src/edge/places.js";
import { region, upstreamOf } from "../src/edge/regions.js";
import { parseKeys, verify, type Claims } from "../src/edge/token.js";
import { Writer } from "../src/wire/codec.js";
import { testdata } from "./paths.js";

const read = (...path: string[]) => JSON.parse(readFileSync(testdata(...path), "utf8"));

test("tokens get the verdicts that are written down", async (t) => {
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

test("a token ends with its second", async () => {
  const { keys, now, vectors } = read("tokens", "vectors.json");
  const { token } = vectors.find(({ name }: { name: string }) => name === "a token for feeding");
  const verdict = async (millis: number) => "code" in (await verify(await parseKeys(keys), token, millis));
  assert.deepEqual([await verdict(now * 1000 + 999), await verdict(now * 1000 + 1000)], [false, true]);
});

test("keys that cannot protect are refused, and not shown", async () => {
  for (const [text, want] of [["", /there is no key/], [" \n", /there is no key/], ["too-short", /^Error: key 1 has 9 bytes, expected at least 32/]] as const) {
    await assert.rejects(async () => parseKeys(text), (error: Error) => want.test(String(error)) && !error.message.includes("too-short"));
  }
});

test("resources are where host/edge looks for them", () => {
  const { clusters, places } = read("edge", "places.json");
  for (const { cluster, resource, object, message } of places) {
    assert.deepEqual(place(clusters, cluster, [resource]), object ?? { code: 404, reason: "NotFound", message });
  }
  assert.equal(place(clusters, "split", []), "split/pods");
  assert.equal(place(clusters, "split", ["apps/v1/deployments", "apps/v1/replicasets"]), "split/apps");
  assert.deepEqual(place(clusters, "split", ["v1/pods", "v1/nodes"]), {
    code: 400, reason: "BadRequest", message: "v1/pods and v1/nodes are kept in different objects of this edge: connect once for each",
  });
  for (const name of ["none", "", "constructor", "__proto__"]) assert.equal((place(clusters, name, []) as { code: number }).code, 404);
  assert.equal(place(parseClusters(undefined), "default", []), "default/all");
});

test("readers are sent to a region of their part of the world", () => {
  const clusters = { default: { shards: [{ name: "pods", resources: ["v1/pods"] }], regions: 4 }, other: {} };
  assert.deepEqual(region(clusters, "default/pods", "EU", 0.99), { name: "default/pods@weur-3", hint: "weur" });
  assert.deepEqual(region(clusters, "default/pods", undefined, 0), { name: "default/pods@any-0", hint: undefined });
  assert.equal(region(clusters, "other/all", "EU", 0.5), undefined);
  const asked: string[] = [];
  const WATCHGLASS = { idFromName: (name: string) => asked.push(name), get: () => "home" as never };
  const env = { WATCHGLASS, WATCHGLASS_CLUSTERS: JSON.stringify(clusters) };
  assert.deepEqual(upstreamOf("default/pods@weur-3", env), { object: "home", cluster: "default", resources: ["v1/pods"] });
  assert.deepEqual(asked, ["default/pods"]);
  for (const name of [undefined, "default/pods", "default/none@weur-3", "other/all@weur-3"]) assert.throws(() => upstreamOf(name, env), /is not the name of a regional object/);
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

test("the last words of a refusal are a frame that readers know", () => {
  const { hex, value } = read("wire", "SubscriptionStatus.json") as { hex: string; value: { Subscription: number; Status: Record<string, never> } };
  const { Code: code, Reason: reason, Message: message, Cause: cause, RetryAfterSeconds: retryAfterSeconds } = value.Status;
  const w = new Writer();
  writeSubscriptionStatus(w, value.Subscription, { code, reason, message, cause, retryAfterSeconds } as never);
  assert.equal(Buffer.from(w.take()).toString("hex"), hex);
});
