// Tokens and places: what host/access/token and host/edge say, said here.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { writeSubscriptionStatus } from "../src/edge/frames.js";
import { parseClusters, place, route } from "../src/edge/places.js";
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
