// Tests of discovery, with an in-memory cluster and with a real connector.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect } from "../src/index.js";
import { listKinds, schemaOf } from "../src/kinds.js";
import { TestCluster } from "../src/testing.js";
import { connected, optionsOf, pod, skip as noModule } from "./cluster.js";
import { noDemo, noEdge, startDemo, startEdge } from "./demo.js";

const options = { skip: noModule, timeout: 60_000 };
const gadget = { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "one" } };

test("the kinds of a cluster include custom resources, and each can be opened", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  cluster.apply(gadget);
  const kinds = await listKinds(cluster.url, { fetch: cluster.fetch });
  assert.deepEqual(kinds.map(({ resource, kind, namespaced }) => [resource, kind, namespaced]), [["example.com/v1/gadgets", "Gadget", false], ["v1/pods", "Pod", true]]);
  const wg = await connected(t, cluster);
  for (const { resource, kind, plural } of kinds) {
    const schema = await schemaOf(wg, resource);
    assert.deepEqual([schema.kind, schema.resource], [kind, plural]);
  }
  assert.ok((await schemaOf(wg, "v1/pods")).columns.some(({ name }) => name === "Restarts"));
  assert.deepEqual(wg.opened(), []);
  await assert.rejects(schemaOf(wg, "example.com/v1/absent"), { code: 404 });
  assert.deepEqual(wg.opened(), []);
});

test("the schema of an open collection needs no request", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  await pods.synced;
  const { watches } = cluster;
  assert.equal(await schemaOf(wg, "v1/pods"), pods.schema);
  assert.deepEqual(cluster.watches, watches);
});

/**
 * Returns a fetch function that responds with `answers` by path, or with a 403, and records the
 * requests.
 */
function server(answers: Record<string, unknown>) {
  const requests: [path: string, authorization: string | undefined, accept: string | undefined][] = [];
  const fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(String(input));
    const headers = init?.headers as Record<string, string>;
    requests.push([pathname, headers["authorization"], headers["accept"]]);
    const found = answers[pathname];
    return found ? Response.json(found) : new Response("", { status: 403 });
  };
  return { requests, fetch: fetch as typeof globalThis.fetch };
}

test("a kind is listed once, in the preferred version, if it can be listed and watched", async () => {
  const resource = (name: string, verbs = ["list", "watch"]) => ({ resource: name, responseKind: { kind: "Any" }, scope: "Cluster", singularResource: "", verbs, shortNames: ["a"] });
  const versions = [
    { version: "v2", resources: [resource("things"), resource("reviews", ["create"])] },
    { version: "v1", resources: [resource("things"), resource("olds")] },
  ];
  const { requests, fetch } = server({ "/k8s/api": { items: [] }, "/k8s/apis": { items: [{ metadata: { name: "g" }, versions }] } });
  const kinds = await listKinds("https://host/k8s/", { fetch, token: async () => "t0ken" });
  assert.deepEqual(kinds.map(({ resource }) => resource), ["g/v1/olds", "g/v2/things"]);
  assert.deepEqual(kinds[1], { resource: "g/v2/things", group: "g", version: "v2", plural: "things", singular: "any", kind: "Any", namespaced: false, shortNames: ["a"], categories: [] });
  assert.equal(requests.length, 2);
  for (const [, authorization, accept] of requests) assert.deepEqual([authorization, accept?.includes("v=v2;as=APIGroupDiscoveryList")], ["Bearer t0ken", true]);
});

test("errors of discovery name the address and what was expected", async () => {
  const { fetch } = server({ "/api": { kind: "APIVersions" } });
  await assert.rejects(listKinds("https://host", { fetch: server({}).fetch }), { name: "WatchglassError", code: 403, reason: "Forbidden", message: "https://host/api cannot be read: HTTP status 403" });
  await assert.rejects(listKinds("https://host", { fetch: ((input: string, init: RequestInit) => fetch(input.replace("apis", "api"), init)) as typeof globalThis.fetch }), { code: 501, message: /aggregated discovery: Kubernetes 1.30 or later is expected/ });
  const page = (async () => new Response("<!doctype html>")) as typeof globalThis.fetch;
  await assert.rejects(listKinds("wss://host/watch", { fetch: page }), { code: 501, message: /^https:\/\/host\/api is not aggregated discovery/ });
  await assert.rejects(listKinds("https://host", { fetch, signal: AbortSignal.abort(new Error("not needed")) }));
});

test("the kinds of a connector have the columns that it serves", { skip: noDemo, timeout: 60_000 }, async (t) => {
  const { watch, kubernetes } = await startDemo(t);
  const { wasm } = await optionsOf(new TestCluster());
  const wg = await connect(watch, { wasm: wasm! });
  t.after(() => wg.close());
  const kinds = await listKinds(watch);
  assert.deepEqual(kinds, await listKinds(kubernetes));
  assert.deepEqual(kinds, await listKinds(`${watch}?resource=v1/pods`));
  assert.deepEqual(kinds, await listKinds(watch.replace(/^ws(.*)watch$/, "http$1")));
  const pods = kinds.find(({ resource }) => resource === "v1/pods");
  assert.deepEqual([pods?.kind, pods?.namespaced, pods?.shortNames], ["Pod", true, ["po"]]);
  assert.ok(kinds.some(({ resource }) => resource === "apps/v1/deployments"));
  const schema = await schemaOf(wg, "v1/pods");
  assert.deepEqual(schema.columns.slice(0, 2).map(({ name }) => name), ["Ready", "Status"]);
});

test("the kinds of an edge are those of its objects", { skip: noEdge, timeout: 120_000 }, async (t) => {
  const { url, token } = await startEdge(t);
  const kinds = await listKinds(`${url.replace("http", "ws")}/watch`, { token });
  assert.deepEqual(kinds.map(({ resource }) => resource), ["apps/v1/deployments", "v1/configmaps", "v1/nodes", "v1/pods"]);
  assert.deepEqual(kinds, await listKinds(`${url}/clusters/default/watch`, { token: async () => token }));
  await assert.rejects(listKinds(`${url}/watch`), { code: 401, reason: "Unauthorized" });
});
