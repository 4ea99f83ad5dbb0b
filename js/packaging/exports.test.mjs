// Bundles every entry of `exports` in package.json into a page or a worker, and runs it there.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build as bundle } from "esbuild";
import { build } from "vite-8";
import { here, html, rows, served, showsRows, strictPolicy, workspace } from "./support.mjs";

const space = workspace("exports");

/**
 * A program for each entry: its imports, and the body of a function that returns the names of the
 * pods. The variable `user` has the identity with which two tabs share a connection. `connections`
 * is the expected number of connections of two tabs, by default 1.
 */
const pages = {
  ".": [`import { connect } from "watchglass";`, `
    const view = (await connect(url, user)).collection("v1/pods").view({ sort: "name" });
    await view.ready;
    return view.snapshot.rows.map((row) => row.name);`],
  "./inline": [`import { connect } from "watchglass/inline";`, `
    const { items } = await (await connect(url, { worker: "inline" })).collection("v1/pods").list();
    return items.map(({ metadata }) => metadata.name);`, { connections: 2 }],
  "./react": [`import { createElement } from "react";
    import { createRoot } from "react-dom/client";
    import { createClient } from "watchglass";
    import { useView, WatchglassProvider } from "watchglass/react";`, `
    return new Promise((resolve) => {
      function Pods() {
        const { rows, view } = useView("v1/pods", { sort: "name" });
        if (view === "ready") resolve(rows.map((row) => row.name));
        return null;
      }
      const root = createRoot(document.createElement("div"));
      root.render(createElement(WatchglassProvider, { client: createClient(url, user) }, createElement(Pods)));
    });`],
  "./informer": [`import { createClient } from "watchglass";
    import { makeInformer } from "watchglass/informer";`, `
    const informer = makeInformer(createClient(url, user), "/api/v1/pods");
    await informer.start();
    return informer.list().map(({ metadata }) => metadata.name);`],
  "./inspector": [`import { createClient } from "watchglass";
    import { WatchglassInspector } from "watchglass/inspector";`, `
    const client = createClient(url, user);
    const pods = (await client.connect()).collection("v1/pods");
    const inspector = new WatchglassInspector();
    inspector.client = client;
    document.body.append(inspector);
    while (!inspector.shadowRoot.textContent.includes("v1/pods")) await new Promise(requestAnimationFrame);
    return (await pods.list()).items.map(({ metadata }) => metadata.name);`],
  // Each tab has its own user. With the same user, the second tab would share the first tab's
  // engine, whose persistence clearPersisted has ended.
  "./persistence": [`import { connect } from "watchglass";
    import { clearPersisted } from "watchglass/persistence";`, `
    const wg = await connect(url, { identity: crypto.randomUUID(), persist: true });
    const { items } = await wg.collection("v1/pods").list();
    while (!((await wg.inspect())["persistence.stored"] > 0)) await new Promise(requestAnimationFrame);
    await clearPersisted();
    const left = await indexedDB.databases();
    if (left.length > 0) throw new Error(JSON.stringify(left));
    return items.map(({ metadata }) => metadata.name);`, { connections: 2 }],
  "./kinds": [`import { connect } from "watchglass";
    import { schemaOf } from "watchglass/kinds";`, `
    const wg = await connect(url, user);
    const { kind } = await schemaOf(wg, "v1/pods");
    const { items } = await wg.collection("v1/pods").list();
    return items.map(({ metadata }) => metadata.name).filter(() => kind === "Pod");`],
  "./search": [`import { connect } from "watchglass";
    import { highlighter } from "watchglass/search";`, `
    const { items } = await (await connect(url, user)).collection("v1/pods").list();
    const find = highlighter("web");
    return items.map(({ metadata }) => metadata.name).filter((name) => find(name).length > 0);`],
  "./groups": [`import { connect } from "watchglass";
    import { groupQuery } from "watchglass/groups";`, `
    const pods = (await connect(url, user)).collection("v1/pods");
    const query = { groupBy: ["namespace"], limit: 0 };
    const groups = pods.view(query);
    await groups.ready;
    const rows = groups.snapshot.groups.values.map((group) => pods.view(groupQuery(query, group)));
    await Promise.all(rows.map(({ ready }) => ready));
    return rows.flatMap(({ snapshot }) => snapshot.rows.map(({ name }) => name)).sort();`],
  "./stores": [`import { createClient } from "watchglass";
    import { viewStore } from "watchglass/stores";`, `
    const pods = viewStore(createClient(url, user), "v1/pods", { sort: "name" });
    return new Promise((resolve) => pods.subscribe(({ rows, view }) => view === "ready" && resolve(rows.map((row) => row.name))));`],
  "./tanstack-db": [`import { createCollection } from "@tanstack/react-db";
    import { createClient } from "watchglass";
    import { watchglassCollectionOptions } from "watchglass/tanstack-db";`, `
    const pods = createCollection(watchglassCollectionOptions({ client: createClient(url, user), resource: "v1/pods" }));
    return (await pods.toArrayWhenReady()).map(({ metadata }) => metadata.name).sort();`],
  "./indexer": [`import { connect } from "watchglass";
    import { createIndexer } from "watchglass/indexer";`, `
    const indexer = createIndexer((await connect(url, user)).collection("v1/pods"), { name: "name" });
    await indexer.ready;
    return indexer.indexValues("name").sort();`],
  "./tree": [`import { connect } from "watchglass";
    import { ownerTree } from "watchglass/tree";`, `
    const pods = (await connect(url, user)).collection("v1/pods");
    const { items } = await pods.list();
    const trees = items.map(({ metadata }) => ownerTree([pods], metadata.uid));
    await Promise.all(trees.map(({ ready }) => ready));
    return trees.map(({ snapshot }) => snapshot.root.row.name);`],
  "./testing": [`import { connect } from "watchglass";
    import { TestCluster } from "watchglass/testing";`, `
    const cluster = new TestCluster();
    for (const name of ["web-1", "web-2"]) cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } });
    const { items } = await (await connect(cluster.url, cluster.options)).collection("v1/pods").list();
    return items.map(({ metadata }) => metadata.name);`, { connections: 0 }],
  "./worker": [`import { connect } from "watchglass";
    import workerURL from "watchglass/worker?url";
    import wasm from "watchglass/watchglass.wasm?url"; // not beside a worker whose name has a hash`, `
    const { items } = await (await connect(url, { ...user, workerURL, wasm })).collection("v1/pods").list();
    return items.map(({ metadata }) => metadata.name);`],
  "./watchglass.wasm": [`import { connect } from "watchglass";
    import wasm from "watchglass/watchglass.wasm?url";`, `
    const { items } = await (await connect(url, { ...user, wasm })).collection("v1/pods").list();
    return items.map(({ metadata }) => metadata.name);`],
  "./package.json": [`import { connect } from "watchglass";
    import { name } from "watchglass/package.json";`, `
    const { items } = await (await connect(url, user)).collection("v1/pods").list();
    return items.map(({ metadata }) => metadata.name).filter(() => name === "watchglass");`],
};

/** The entries for Cloudflare's workers. */
const workers = ["./edge"];

test("every entry of exports has a program that uses it", () => {
  const { exports } = JSON.parse(readFileSync(join(here, "../package.json"), "utf8"));
  assert.deepEqual(Object.keys(exports).sort(), [...Object.keys(pages), ...workers].sort());
});

for (const [entry, [imports, body, options]] of Object.entries(pages)) {
  test(`a page that Vite builds uses the entry ${entry}`, { timeout: 120_000 }, async () => {
    const program = `${imports}
      const show = (text) => { document.querySelector("p").textContent = text; };
      async function run(url, user) {${body}}
      run(${JSON.stringify(space.url)}, { identity: "everyone" }).then((names) => show("rows: " + names.join(" ")), (error) => show("failed: " + error.message));`;
    const root = space.project(entry.replaceAll(/\W/g, "") || "main", { "main.js": program, "index.html": html("/main.js") });
    await build({ root, configFile: false, logLevel: "silent" });
    await served(join(root, "dist"), strictPolicy(space.url), (origin) => showsRows(space, `${origin}/`, options));
  });
}

/**
 * The entries that Node cannot import, because they target other runtimes or are not JavaScript
 * modules.
 */
const unimportable = ["./edge", "./worker", "./watchglass.wasm", "./package.json"];

test("Node imports every entry without connecting", async () => {
  const names = Object.keys(pages).filter((entry) => !unimportable.includes(entry)).map((entry) => `watchglass${entry.slice(1)}`);
  const folder = space.project("node", { "main.mjs": names.map((name, i) => `import * as entry${i} from ${JSON.stringify(name)};\nconsole.log(Object.keys(entry${i}).length > 0);`).join("\n") });
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["main.mjs"], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  assert.equal(stderr, "");
  assert.equal(stdout, "true\n".repeat(names.length));
});

const cluster = `import { connect } from "watchglass";
  import { edgeEntry, grantHeader, WatchglassObject } from "watchglass/edge";
  export class Cluster extends WatchglassObject {}
  const entry = edgeEntry(() => new Response("not found\\n", { status: 404 }));
  const grant = { resources: ["*"], namespaces: ["*"], expires: 4e9, cluster: "test", user: "tester" };
  export default {
    async fetch(request, env, context) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === "/names") {
        const wg = await connect(searchParams.get("url"));
        const { items } = await wg.collection("v1/pods").list();
        wg.close();
        return new Response("rows: " + items.map(({ metadata }) => metadata.name).join(" "));
      }
      if (!/^.(watch|feed)$/.test(pathname)) return entry.fetch(request, env, context);
      const inner = new Request(request);
      inner.headers.set(grantHeader, JSON.stringify({ ...grant, feed: pathname === "/feed" }));
      return env.CLUSTER.get(env.CLUSTER.idFromName("one")).fetch(inner);
    },
  };`;

const config = (module) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    (name = "loopback", network = (allow = ["local"])),
    (name = "objects", disk = (writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);
const edge :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [(name = "main.js", esModule = embed "main.js"), (name = "${module}", wasm = embed "${module}")],
  globalOutbound = "loopback",
  bindings = [(name = "CLUSTER", durableObjectNamespace = "Cluster")],
  durableObjectNamespaces = [(className = "Cluster", uniqueKey = "cluster", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
);`;

test("a worker that esbuild bundles uses the entry ./edge and reads with the entry . in workerd", { timeout: 120_000 }, async (t) => {
  const root = space.project("edge", { "worker.js": cluster });
  const out = join(root, "dist");
  await bundle({ entryPoints: { main: join(root, "worker.js") }, bundle: true, format: "esm", conditions: ["workerd"], loader: { ".wasm": "copy" }, outdir: out, logLevel: "warning" });
  const [module] = readdirSync(out).filter((name) => name.endsWith(".wasm"));
  writeFileSync(join(out, "config.capnp"), config(module));
  const helper = join(root, "workerd.mjs");
  await bundle({ entryPoints: [join(here, "../test/workerd.ts")], outfile: helper, bundle: true, format: "esm", platform: "node", packages: "external", logLevel: "warning" });
  const { serveWorkerd } = await import(pathToFileURL(helper).href);
  const objects = join(root, "objects");
  mkdirSync(objects);
  const workerd = await serveWorkerd(join(out, "config.capnp"), `--directory-path=objects=${objects}`);
  t.after(() => workerd.kill());
  const { socket } = await space.connector.feed(`ws://${workerd.address}/feed?resources=v1/pods&clusterID=${space.connector.clusterID}`, {});
  t.after(() => socket.terminate());
  const get = async (path) => (await fetch(`http://${workerd.address}${path}`)).text();
  for (const url of [space.url, `ws://${workerd.address}/watch`]) assert.equal(await get(`/names?url=${encodeURIComponent(url)}`), rows);
  assert.equal(await get("/"), "not found\n");
});
