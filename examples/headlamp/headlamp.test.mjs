// Tests the hook of the plugin with the real engine and an in-memory cluster. These tests require
// only the dependencies of js/. "make headlamp" tests the built plugin.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const js = createRequire(at("../../js/package.json"));

// The folder is below js/, so that the bundle finds react in js/node_modules.
const folder = mkdtempSync(at("../../js/build/headlamp-"));
let TestCluster, cluster, useLiveList, renderHook, waitFor, act;

class Pod {
  static apiName = "pods";
  static apiVersion = "v1";
  static isNamespaced = true;
  constructor(json, cluster) {
    Object.assign(this, { jsonData: json, cluster });
  }
}

class Node extends Pod {
  static apiName = "nodes";
  static isNamespaced = false;
}

before(async () => {
  js("global-jsdom")();
  ({ TestCluster } = await import(pathToFileURL(at("../../js/dist/testing.js"))));
  const contents = (text) => ({ contents: text, loader: "js", resolveDir: at("../../js") });
  const hosts = {
    name: "hosts",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^(@kinvolk\/|watchglass\/)/ }, ({ path }) => ({ path, namespace: "host" }));
      onLoad({ filter: /^@kinvolk/, namespace: "host" }, () =>
        contents(`export const K8s = { useSelectedClusters: () => [testClusterName] };
          export class ConfigStore { get() { return {}; } }`));
      onLoad({ filter: /^watchglass\/inline$/, namespace: "host" }, () =>
        contents(`import * as watchglass from "./dist/node.js";
          export const createClient = (url, options) => {
            const cluster = testClusters.get(url) ?? testClusters.get("");
            const client = watchglass.createClient(cluster.url, { ...options, ...cluster.options });
            testClients.set(url, client);
            return client;
          };`));
      onLoad({ filter: /^watchglass\/stores$/, namespace: "host" }, () => contents('export * from "./dist/stores.js";'));
    },
  };
  const outfile = join(folder, "hook.mjs");
  await js("esbuild").build({ entryPoints: [at("src/useLiveList.ts")], bundle: true, format: "esm", platform: "node", outfile, plugins: [hosts], external: ["react"], define: { "import.meta.url": JSON.stringify(pathToFileURL(at("../../js/dist/node.js")).href) } });
  ({ useLiveList } = await import(pathToFileURL(outfile)));
  const library = js("@testing-library/react");
  ({ renderHook, waitFor, act } = library);
  library.configure({ asyncUtilTimeout: 20_000 }); // generous for a busy machine
});
after(() => rmSync(folder, { recursive: true }));

let tests = 0;
beforeEach(() => {
  cluster = new TestCluster();
  globalThis.testClusters = new Map([["", cluster]]); // by URL, with "" for all other URLs
  globalThis.testClusterName = `cluster-${++tests}`;
  globalThis.testClients = new Map();
});
afterEach(() => {
  for (const client of globalThis.testClients.values()) client.close();
});

const pod = (name, namespace, labels = {}) => cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels } });
const names = ([items]) => items?.map(({ jsonData: { metadata } }) => metadata.name);
const shows = (hook, expected) => waitFor(() => assert.deepEqual(names(hook.result.current), expected));

test("the hook has the results of Headlamp's useList, and keeps them current", async (t) => {
  pod("web-1", "default");
  pod("web-2", "shop");
  const hook = renderHook(() => useLiveList(Pod));
  t.after(() => hook.unmount());
  {
    const [items, error] = hook.result.current;
    const { isLoading, status } = hook.result.current;
    assert.deepEqual({ items, error, isLoading, status }, { items: null, error: null, isLoading: true, status: "pending" });
  }
  await shows(hook, ["web-1", "web-2"]);
  const { items, error, errors, isLoading, isSuccess, status, clusterResults } = hook.result.current;
  assert.deepEqual({ error, errors, isLoading, isSuccess, status }, { error: null, errors: null, isLoading: false, isSuccess: true, status: "success" });
  assert.equal(items, hook.result.current[0]);
  assert.ok(items[0] instanceof Pod);
  assert.equal(items[0].cluster, "cluster-1");
  assert.deepEqual(clusterResults["cluster-1"].items, items);
  assert.deepEqual([...globalThis.testClients.keys()], ["/clusters/cluster-1"]);

  act(() => void pod("web-3", "default"));
  await shows(hook, ["web-1", "web-3", "web-2"]); // sorted by namespace and name
  assert.equal(hook.result.current[0][0], items[0], "an unchanged object remains the same instance");
  act(() => cluster.delete("v1/pods", "default/web-1"));
  await shows(hook, ["web-3", "web-2"]);
  act(() => cluster.delete("v1/pods", "default/web-3"));
  act(() => cluster.delete("v1/pods", "shop/web-2"));
  await shows(hook, []);
});

test("the hook takes namespaces and selectors, and shares watches", async (t) => {
  pod("a", "one", { app: "web" });
  pod("b", "two", { app: "web" });
  pod("c", "two", { app: "db" });
  pod("d", "three", { app: "web" });
  const hook = renderHook((options) => useLiveList(Pod, options), { initialProps: { namespace: ["one", "two"], labelSelector: "app=web" } });
  const other = renderHook(() => useLiveList(Pod, { namespace: "two", labelSelector: "app=web" }));
  t.after(() => (hook.unmount(), other.unmount()));
  await shows(hook, ["a", "b"]);
  await shows(other, ["b"]);
  assert.equal(cluster.watches.length, 2, "one watch per namespace");
  hook.rerender({ namespace: "three" });
  await shows(hook, ["d"]);
});

test("the hook reports errors as Headlamp does", async (t) => {
  cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } });
  cluster.deny("v1/nodes");
  const hook = renderHook(() => useLiveList(Node));
  t.after(() => hook.unmount());
  await waitFor(() => assert.equal(hook.result.current.error?.status, 403));
  const { items, isError, status, errors } = hook.result.current;
  assert.deepEqual({ items, isError, status, count: errors.length }, { items: null, isError: true, status: "error", count: 1 });
  assert.equal(errors[0].cluster, globalThis.testClusterName);
});

test("the hook keeps the objects while the connection is lost", async (t) => {
  pod("kept", "four");
  const hook = renderHook(() => useLiveList(Pod, { namespace: "four" }));
  t.after(() => hook.unmount());
  await shows(hook, ["kept"]);
  cluster.cut();
  await waitFor(() => assert.deepEqual(cluster.watches, []));
  assert.deepEqual(names(hook.result.current), ["kept"]);
  assert.equal(hook.result.current.status, "success");
});

test("the hook merges clusters, and keeps their results and errors apart", async (t) => {
  const west = new TestCluster();
  globalThis.testClusters.set("/clusters/west", west);
  const add = (to, kind, name) => to.apply({ apiVersion: "v1", kind, metadata: { name, ...(kind === "Pod" && { namespace: "default" }) } });
  const shown = ([items]) => items?.map(({ cluster, jsonData }) => `${cluster} ${jsonData.metadata.name}`);
  const becomes = (hook, expected) => waitFor(() => assert.deepEqual(shown(hook.result.current), expected));
  add(cluster, "Pod", "web-1");
  add(west, "Pod", "web-0");
  add(west, "Pod", "web-1");
  const hook = renderHook((options) => useLiveList(Pod, options), { initialProps: { clusters: ["east", "west"] } });
  t.after(() => hook.unmount());
  await becomes(hook, ["east web-1", "west web-0", "west web-1"]);
  const { items, errors, clusterResults } = hook.result.current;
  assert.equal(errors, null);
  assert.deepEqual(clusterResults.east.items, items.slice(0, 1));
  assert.deepEqual(clusterResults.west.items, items.slice(1));
  act(() => void add(west, "Pod", "web-2"));
  await becomes(hook, ["east web-1", "west web-0", "west web-1", "west web-2"]);
  assert.equal(hook.result.current.items[0], items[0], "a change in one cluster keeps the instances of the other");
  hook.rerender({ cluster: "west", clusters: ["east", "west"] });
  await becomes(hook, ["west web-0", "west web-1", "west web-2"]);

  add(cluster, "Node", "node-1");
  west.deny("v1/nodes");
  const nodes = renderHook(() => useLiveList(Node, { clusters: ["east", "west"] }));
  t.after(() => nodes.unmount());
  await becomes(nodes, ["east node-1"]);
  await waitFor(() => assert.equal(nodes.result.current.error?.cluster, "west"));
  const { status, isError, errors: [{ status: code }], clusterResults: { east, west: denied } } = nodes.result.current;
  assert.deepEqual({ status, isError, code, east: east.status, west: denied.status }, { status: "success", isError: true, code: 403, east: "success", west: "error" });
  assert.deepEqual(shown(nodes.result.current), ["east node-1"], "the objects of the other cluster stay");
});
