// Tests of direct mode, in which the module reads the Kubernetes API over HTTP. The API is a server
// that the test controls, or build/watchglass.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { connect } from "../src/index.js";
import type { Collection, KubeObject, State, Watchglass } from "../src/types.js";
import { Kubernetes, pod } from "./kubernetes.js";
import { built } from "./paths.js";

const module = built("watchglass.wasm");
const skip = existsSync(module) ? false : "build/watchglass.wasm is missing";

function connectDirect(t: TestContext, url: string, token = ""): Promise<Watchglass> {
  const connection = connect(url, { kubernetes: true, worker: "inline", wasm: `file://${module}`, token });
  t.after(async () => (await connection).close());
  return connection;
}

/**
 * Resolves when `wanted` returns true. Calls `wanted` whenever the status or the progress of the
 * collection changes.
 */
function until(pods: Collection, wanted: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!wanted()) return;
      for (const stop of stops) stop();
      resolve();
    };
    const stops = [pods.subscribe(look), pods.subscribeProgress(look)];
    look();
  });
}

const inState = (pods: Collection, state: State): Promise<void> => until(pods, () => pods.status.state === state);

test("a watch receives the state and changes, with the token on every request", { skip }, async (t) => {
  const kubernetes = await Kubernetes.start(t);
  const wg = await connectDirect(t, kubernetes.url, "s3cret");
  const pods = wg.collection("v1/pods", { namespace: "default", labelSelector: "app=web" });
  await pods.synced;
  assert.equal(pods.schema?.columns[1]?.name, "Status");
  const { metadata, ...rest } = await pods.get("default/web-1");
  assert.deepEqual(rest, { kind: "Pod", apiVersion: "v1", status: { phase: "Running" } });
  assert.equal(metadata.resourceVersion, "5");
  assert.equal("managedFields" in metadata, false);
  const events = pods.watch({ resourceVersion: "7" })[Symbol.asyncIterator]();
  const watch = await kubernetes.watch(0);
  const line = JSON.stringify({ type: "MODIFIED", object: pod("web-1", 9, "Failed") });
  watch.write(line.slice(0, 60));
  await until(pods, () => true);
  watch.write(`${line.slice(60)}\n`);
  const { value } = await events.next();
  assert.equal(value.type, "MODIFIED");
  assert.equal((value as { object: { metadata: { resourceVersion: string } } }).object.metadata.resourceVersion, "9");
  for (const { headers, url } of kubernetes.requests) {
    assert.equal(headers.authorization, "Bearer s3cret");
    assert.equal(headers.accept, "application/json");
    assert.match(url!, /^\/k8s\/api\/v1\//);
    assert.doesNotMatch(url!, /s3cret/);
  }
  const ended = once(watch, "close");
  wg.close();
  await ended; // closing the client has closed the watch
});

test("custom columns", { skip }, async (t) => {
  const kubernetes = await Kubernetes.start(t);
  const wg = await connectDirect(t, kubernetes.url);
  const pods = wg.collection("v1/pods", { columns: [{ name: "App", kind: "string", path: ".metadata.labels.app" }] });
  const view = pods.view({ facets: ["App"] });
  await view.ready;
  assert.equal(view.snapshot.rows[0]?.columns[0], "web");
  assert.deepEqual(pods.schema?.columns.map(({ name, priority }) => `${name} ${priority}`), ["App 0", "creationTimestamp 255", "deletionTimestamp 255"]);
  assert.deepEqual(view.snapshot.facets["App"]?.values, [["web", 1]]);
  const broken = wg.collection("v1/pods", { columns: [{ name: "X", kind: "string", path: ".a[-1]" }] });
  await assert.rejects(broken.synced, /column "X": path ".a\[-1\]"/);
});

test("a refusal contains the server's message", { skip }, async (t) => {
  const kubernetes = await Kubernetes.start(t);
  kubernetes.instead = (_request, response) => {
    response.writeHead(401, { "retry-after": "3" });
    response.end(JSON.stringify({ kind: "Status", code: 401, reason: "Unauthorized", message: "Unauthorized" }));
    return true;
  };
  const wg = await connectDirect(t, kubernetes.url, "wrong");
  const pods = wg.collection("v1/pods");
  await inState(pods, "forbidden");
  assert.match(pods.status.error!.message, /the credentials are missing, wrong or expired/);
  assert.equal(pods.status.error!.retryAfterSeconds, 3);
});

test("a broken connection is reopened, and the watch continues", { skip }, async (t) => {
  const kubernetes = await Kubernetes.start(t);
  const wg = await connectDirect(t, kubernetes.url);
  const pods = wg.collection("v1/pods");
  await pods.synced;
  (await kubernetes.watch(0)).destroy();
  await inState(pods, "reconnecting");
  assert.match(pods.status.error!.message, /watch of v1\/pods: cannot read from http/);
  wg.reconnect();
  const second = await kubernetes.watch(1);
  // In addition to this watch, the last three requests ask for the newest version and for the
  // identity of the cluster.
  assert.match(kubernetes.requests.slice(-3).map(({ url }) => url).join(" "), /watch=1&resourceVersion=7&/);
  kubernetes.send(second, "DELETED", pod("web-1", 12));
  await inState(pods, "live");
  assert.equal(pods.progress.objects, 0);
  const inspected = await wg.inspect();
  assert.equal(inspected["collection.1.relists"], 1);
  assert.equal(inspected["collection.1.resumes"], 1);
});

/**
 * Wraps fetch so that it resolves only when the first bytes of the body have arrived, or the body
 * has ended. Firefox's fetch does the same.
 */
function fetchOfFirefox(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const reader = response.body!.getReader();
    let next: ReturnType<typeof reader.read> | undefined = reader.read();
    await next;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = await (next ?? reader.read());
        next = undefined;
        if (piece.done) controller.close();
        else controller.enqueue(piece.value);
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

test("a watch without changes resumes where fetch resolves with the first bytes of a body", { skip }, async (t) => {
  const kubernetes = await Kubernetes.start(t);
  t.mock.method(globalThis, "fetch", fetchOfFirefox(globalThis.fetch));
  const wg = await connectDirect(t, kubernetes.url);
  const pods = wg.collection("v1/pods");
  await pods.synced;
  (await kubernetes.watch(0)).destroy();
  await inState(pods, "reconnecting");
  wg.reconnect();
  const second = await kubernetes.watch(1);
  await inState(pods, "live");
  kubernetes.send(second, "DELETED", pod("web-1", 12));
  await until(pods, () => pods.progress.objects === 0);
  assert.equal(pods.status.state, "live");
  assert.equal((await wg.inspect())["collection.1.resumes"], 1);
});

test("addresses that are not a Kubernetes API are refused", async () => {
  const direct = { kubernetes: true, worker: "inline", wasm: new Uint8Array() } as const;
  await assert.rejects(connect("ws://127.0.0.1:1", direct), /is not the URL of a Kubernetes API/);
  await assert.rejects(connect("http://a:b@127.0.0.1:1", direct), /the URL contains credentials/);
  await assert.rejects(connect("http://127.0.0.1:1/?x", direct), /has a query/);
  await assert.rejects(connect("nothing", direct), /"nothing" is not a URL/);
});

const binary = process.env["WATCHGLASS"] ?? built("watchglass");
const noBinary = skip || (existsSync(binary) ? false : "build/watchglass is missing");

test("the final state equals the server's list", { skip: noBinary }, async (t) => {
  const args = ["demo", "--pods", "300", "--rate", "300", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0"];
  const demo = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.after(async () => {
    demo.kill("SIGINT");
    if (demo.exitCode === null) await once(demo, "exit");
  });
  let url = "";
  for await (const line of createInterface(demo.stdout)) {
    url ||= /--server (http:\/\/\S+)/.exec(line)?.[1] ?? "";
    if (line.startsWith("watchglass demo:")) break;
  }
  const wg = await connectDirect(t, url);
  for (const [resource, path] of [["v1/pods", "/api/v1/pods"], ["apps/v1/deployments", "/apis/apps/v1/deployments"]] as const) {
    const collection = wg.collection(resource);
    await collection.synced;
    const start = BigInt(collection.progress.resourceVersion);
    await until(collection, () => BigInt(collection.progress.resourceVersion) > start + 200n);
    // Reads the list from the server at the version of the local list. The server may be newer by
    // then.
    const ours = await collection.list();
    const query = `resourceVersion=${ours.resourceVersion}&resourceVersionMatch=Exact`;
    const theirs = byKey(((await (await fetch(`${url}${path}?${query}`)).json()) as { items: KubeObject[] }).items);
    // The demo writes several objects in one revision, which kube-apiserver never does. Direct mode
    // may have received only some of the objects of the newest revision.
    const ofNewest = (object: object | undefined): boolean => (object as KubeObject | undefined)?.metadata.resourceVersion === ours.resourceVersion;
    const mine = byKey(ours.items);
    for (const [key, object] of theirs) if (!ofNewest(object)) assert.deepEqual(mine.get(key), object, key);
    const before = `resourceVersion=${BigInt(ours.resourceVersion) - 1n}&resourceVersionMatch=Exact`;
    const earlier = byKey(((await (await fetch(`${url}${path}?${before}`)).json()) as { items: KubeObject[] }).items);
    for (const [key, object] of mine) assert.deepEqual(object, isDeepStrictEqual(object, theirs.get(key)) ? theirs.get(key) : earlier.get(key), key);
    collection.close();
  }
});

/** Returns the objects by key, without the properties that list items lack. */
function byKey(items: KubeObject[]): Map<string, object> {
  return new Map(items.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => [`${item.metadata.namespace}/${item.metadata.name}`, item]));
}
