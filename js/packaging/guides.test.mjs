// Compiles the examples of README.md, as a user would copy them, and runs them in Vite's
// development server, in its build and in Node.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { transformSync } from "esbuild";
import { chromium } from "playwright-core";
import { build, createServer, preview } from "vite-8";
import { args } from "../test/chromium.mjs";
import { here, workspace } from "./support.mjs";

const space = workspace("guides");
const run = promisify(execFile);

const examples = [...readFileSync(join(here, "../README.md"), "utf8").matchAll(/^```(tsx?)\n([^]*?)^```$/gm)].map(([, language, text]) => ({ language, text }));

/** Returns the only example that contains a text. */
function example(text) {
  const found = examples.filter((one) => one.text.includes(text));
  assert.equal(found.length, 1, `examples with ${JSON.stringify(text)}`);
  return found[0].text;
}

// Declares the names that the examples use without defining them.
const globals = `import type { Collection, Watchglass } from "watchglass";
  declare global {
    const wg: Watchglass, pods: Collection, sets: Collection;
    const deployment: { uid: string };
    const written: { metadata: { resourceVersion: string } };
    function freshToken(): Promise<string>;
    function render(snapshot: unknown): void;
    function show(...values: unknown[]): void;
    function draw(root: unknown): void;
    interface V1Pod { metadata?: { resourceVersion?: string } }
  }`;

test("the examples compile", { timeout: 120_000 }, async () => {
  const options = { target: "es2022", lib: ["es2022", "dom", "esnext.disposable"], module: "esnext", moduleResolution: "bundler", strict: true, skipLibCheck: true, jsx: "react-jsx", types: [], noEmit: true };
  const files = Object.fromEntries(examples.map(({ language, text }, i) => [`example-${i}.${language}`, `${text}\nexport {};\n`]));
  const root = space.project("types", { ...files, "globals.d.ts": globals, "tsconfig.json": JSON.stringify({ compilerOptions: options }) });
  symlinkSync(join(here, "node_modules/vite-8"), join(root, "node_modules/vite"));
  await run(process.execPath, [join(here, "node_modules/typescript-7.0/bin/tsc"), "-p", root]).catch(({ stdout, message }) => assert.fail(stdout || message));
});

let launched;
after(async () => (await launched)?.close());

/** Opens a page, and waits until its list contains exactly these items. */
async function lists(at, items) {
  launched ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
  const context = await (await launched).newContext();
  try {
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(at);
    await page.waitForFunction((items) => [...document.querySelectorAll("li")].map((item) => item.textContent).join() === items, items.join());
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
  }
}

const root = `import { createRoot } from "react-dom/client";
  import { createElement } from "react";`;
const page = '<!doctype html><link rel="icon" href="data:,"><div id="root"></div><script type="module" src="/main.tsx"></script>';

test("the React example runs in Vite's development server and its build", { timeout: 120_000 }, async () => {
  const folder = space.project("react", {
    "vite.config.ts": example("// vite.config.ts").replace("127.0.0.1:8080", space.connector.address),
    "app.tsx": example("export const App").replace("-Restarts", "name"), // the test connector has no column "Restarts"
    "main.tsx": `${root} import { App } from "./app"; createRoot(document.getElementById("root")).render(createElement(App));`,
    "index.html": page,
  });
  symlinkSync(join(here, "node_modules/vite-8"), join(folder, "node_modules/vite"));
  const options = { root: folder, logLevel: "silent", server: { host: "127.0.0.1", port: 0 }, preview: { host: "127.0.0.1", port: 0 } };
  const pods = ["default/web-1", "default/web-2"];
  const server = await createServer(options);
  await server.listen();
  await lists(`http://127.0.0.1:${server.httpServer.address().port}/`, pods).finally(() => server.close());
  await build(options);
  const built = await preview(options);
  await lists(`http://127.0.0.1:${built.httpServer.address().port}/`, pods).finally(() => built.close());
});

/** The source of a module with an in-memory cluster, to which the examples connect. */
const cluster = `import { TestCluster } from "watchglass/testing";
  export const cluster = new TestCluster();
  const pod = (namespace, name, nodeName) => cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels: { app: "web" } }, spec: { nodeName }, status: { phase: "Running" } });
  pod("default", "web-1", "node-1");
  pod("default", "web-2", "node-1");
  pod("shop", "cart-1", "node-2");
  cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "node-1" }, spec: { podCIDR: "10.0.0.0/24" } });
  cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "default" } });`;
const inMemory = (text) => `import { cluster } from "./cluster.js";\n${text.replaceAll(/\b(connect|connectKubernetes|createClient)\("[^"]*"(?:, \{[^}]*\})?\)/g, "$1(cluster.url, cluster.options)")}`;

test("the TanStack DB example joins two collections", { timeout: 120_000 }, async () => {
  const folder = space.project("tanstack-db", {
    "cluster.js": cluster,
    "app.tsx": inMemory(example("@tanstack/react-db")),
    "main.tsx": `${root} import { Pods } from "./app"; createRoot(document.getElementById("root")).render(createElement(Pods));`,
    "index.html": page,
  });
  const server = await createServer({ root: folder, configFile: false, logLevel: "silent", server: { host: "127.0.0.1", port: 0 } });
  await server.listen();
  await lists(`http://127.0.0.1:${server.httpServer.address().port}/`, ["web-1 in 10.0.0.0/24", "web-2 in 10.0.0.0/24"]).finally(() => server.close());
});

test("the example of several clusters shows the rows of each", { timeout: 120_000 }, async () => {
  const clusters = `import { TestCluster } from "watchglass/testing";
    export const [blue, green] = ["Failed", "Running"].map((phase) => {
      const cluster = new TestCluster();
      for (const [name, status] of [["web-1", phase], ["web-2", "Failed"]]) cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, status: { phase: status } });
      return cluster;
    });`;
  const text = example("function Failing").replaceAll(/createClient\("wss:\/\/(\w+)[^)]*\)/g, "createClient($1.url, $1.options)");
  const folder = space.project("clusters", {
    "clusters.js": clusters,
    "app.tsx": `import { blue, green } from "./clusters.js";\n${text}`,
    "main.tsx": `${root} import { Page } from "./app"; createRoot(document.getElementById("root")).render(createElement(Page));`,
    "index.html": page,
  });
  const server = await createServer({ root: folder, configFile: false, logLevel: "silent", server: { host: "127.0.0.1", port: 0 } });
  await server.listen();
  await lists(`http://127.0.0.1:${server.httpServer.address().port}/`, ["blue/default/web-1", "blue/default/web-2", "green/default/web-2"]).finally(() => server.close());
});

/** Runs `before`, an example and `rest` in Node. Returns the value that `rest` returns. */
async function inNode(name, text, before, rest) {
  const program = `${inMemory(text)}\n;console.log(JSON.stringify(await (async () => { ${rest} })()));`;
  const { code } = transformSync(program, { loader: "ts", target: "node20", format: "esm" });
  const folder = space.project(name, { "cluster.js": cluster, "before.js": before, "main.js": `import "./before.js";\n${code}` });
  const { stdout } = await run(process.execPath, ["main.js"], { cwd: folder, timeout: 60_000 });
  return JSON.parse(stdout.trim().split("\n").at(-1));
}

/** Code that sets `wg` and `pods`, and records in `opened` the views that an example opens. */
const opened = `import { connect } from "watchglass";
  import { cluster } from "./cluster.js";
  globalThis.wg = await connect(cluster.url, cluster.options);
  globalThis.pods = wg.collection("v1/pods");
  globalThis.opened = [];
  const view = pods.view.bind(pods);
  pods.view = (options) => { const made = view(options); opened.push(made.ready); return made; };
  await pods.synced;`;

for (const text of ['sort: "-Restarts, name"', 'from "watchglass/search"', "where: { and: [[", 'facets: ["status.phase", {', "groups.snapshot.groups"]) {
  test(`the queries of the example with ${text} are valid`, async () => {
    const views = await inNode(text.replaceAll(/\W+/g, "-"), example(text), opened, "await Promise.all(opened); wg.close(); return opened.length;");
    assert.ok(views > 0);
  });
}

test("the examples of owners find the objects below a deployment", async () => {
  const owned = `${opened}
    const own = (apiVersion, kind, name, uid) => cluster.apply({ apiVersion, kind, metadata: { name, namespace: "default", ownerReferences: [{ apiVersion: "apps/v1", kind: "any", name: "any", uid, controller: true }] } });
    const deployment = { uid: "deployment" };
    own("v1", "Pod", "owned", own("apps/v1", "ReplicaSet", "web", deployment.uid).metadata.uid);
    Object.assign(globalThis, { deployment, sets: wg.collection("apps/v1/replicasets"), draw() {} });`;
  assert.deepEqual(await inNode("owned-by", example("ownedBy: deployment.uid"), owned, "await sets.synced; await view.ready; while (view.snapshot.total < 1) await new Promise((resolve) => view.subscribe(resolve)); wg.close(); return view.snapshot.rows.map(({ name }) => name);"), ["owned"]);
  assert.equal(await inNode("tree", example("watchglass/tree"), owned, "await tree.ready; const { root } = tree.snapshot; wg.close(); return root.children[0].children[0].row.name;"), "owned");
});

test("the example of indexes looks up rows", async () => {
  const rest = `const { key } = indexer.get("default/web-1"); wg.close(); return [key, indexer.byIndex("node", "node-1").map(({ name }) => name), indexer.indexValues("label")];`;
  assert.deepEqual(await inNode("indexer", example("watchglass/indexer"), `${opened}\nglobalThis.draw = () => {};`, rest), ["default/web-1", ["web-1", "web-2"], ["app=web"]]);
});

test("the example without a framework reads a view, a watch and objects", async () => {
  const before = `import { cluster } from "./cluster.js";
    const written = cluster.update("v1/pods", "default/web-1", (pod) => { pod.status.phase = "Failed"; });
    Object.assign(globalThis, { written, render() {}, show() {}, freshToken: () => "" });`;
  assert.deepEqual(await inNode("api", example("for await (const event of"), before, "return [view.state, config.current.metadata.name];"), ["closed", "web"]);
});

test("the example of unit tests runs", async () => {
  const checks = `const pods = (await client.connect()).collection("v1/pods");
    while (pods.status.state !== "forbidden") await new Promise((resolve) => pods.subscribe(resolve));
    client.close();
    return pods.status.error.code;`;
  assert.equal(await inNode("testing", example("new TestCluster()"), "", checks), 403);
});

test("the example of an informer runs", async () => {
  const checks = `const [pod] = informer.list();
    client.close();
    return [informer.get("web-1", "default").metadata.name, pod.kind];`;
  assert.deepEqual(await inNode("informer", example("makeInformer<V1Pod>"), "", checks), ["web-1", "Pod"]);
});

test("the example without a connector reads a custom resource with its columns", async () => {
  const before = `import { cluster } from "./cluster.js";
    globalThis.freshToken = () => "";
    cluster.apply({ apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "one", namespace: "default" }, spec: { size: 7 } });`;
  const checks = `const view = gadgets.view({ sort: "-Size" });
    await view.ready;
    const { Size } = view.snapshot.rows[0].cells;
    wg.close();
    return Size;`;
  assert.deepEqual(await inNode("direct", example('import { connectKubernetes }'), before, checks), 7);
});

test("the example of rows first runs", async () => {
  const checks = "await pods.synced; const { bodies } = pods.progress; wg.close(); return bodies;";
  assert.equal(await inNode("rows-first", example("rowsFirst: true"), opened, checks), 3);
});
