// Installs the packed tarball into tiny projects and uses each as its author
// would: Vite's development server and build in Chromium, Node, and TypeScript.
//
// The browser is $CHROMIUM or /usr/bin/chromium. `make packaging` runs it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const work = join(here, "../build/packaging");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const npm = (cwd, ...words) => execFileSync("npm", words, { cwd, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
let browser;

before(async () => {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, "package"), { recursive: true });
  const [{ filename }] = JSON.parse(npm(join(here, ".."), "pack", "--json", "--pack-destination", work));
  execFileSync("tar", ["-xzf", filename], { cwd: work });
  browser = await chromium.launch({ executablePath, args });
});
after(() => browser?.close());

/** Makes a project whose only dependency is the package, and returns its folder. */
function project(name, files) {
  const folder = join(work, name);
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  execFileSync("cp", ["-R", join(work, "package"), join(folder, "node_modules/watchglass")]);
  for (const [file, text] of Object.entries({ "package.json": '{"private":true,"type":"module"}', ...files })) writeFileSync(join(folder, file), text);
  return folder;
}

const page = {
  "index.html": '<!doctype html><link rel="icon" href="data:,"><p>loading</p><script type="module" src="/main.js"></script>',
  // Nothing listens there: that the collection says so means that the worker and the module run.
  "main.js": `import { connect } from "watchglass";
    const show = (text) => { document.querySelector("p").textContent = text; };
    connect("ws://127.0.0.1:9/watch").then((wg) => {
      const pods = wg.collection("v1/pods");
      pods.subscribe(() => pods.status.error && show("engine: " + pods.status.error.message));
    }, (error) => show("failed: " + error.message));`,
};

async function runs(url, csp) {
  const context = await browser.newContext();
  const tab = await context.newPage();
  const errors = [];
  tab.on("pageerror", (error) => errors.push(String(error)));
  if (csp) {
    await context.route(url, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": csp } });
    });
  }
  await tab.goto(url);
  await tab.waitForFunction(() => document.querySelector("p")?.textContent !== "loading");
  const text = await tab.textContent("p");
  await context.close();
  assert.match(text, /^engine: .*cannot connect to ws:\/\/127\.0\.0\.1:9\/watch/, errors.join("; "));
}

for (const version of ["5", "7", "8"]) {
  const name = `vite-${version}`;
  const quiet = { logLevel: "silent", server: { host: "127.0.0.1", port: 0 } };

  test(`${name} serves a page in development without configuration`, { timeout: 120_000 }, async () => {
    const vite = await import(name);
    const server = await vite.createServer({ ...quiet, root: project(`${name}-dev`, page), configFile: false });
    await server.listen();
    try {
      await runs(`http://127.0.0.1:${server.httpServer.address().port}/`);
    } finally {
      await server.close();
    }
  });

  test(`${name} builds a page, which runs below a base path and a strict policy`, { timeout: 120_000 }, async () => {
    const vite = await import(name);
    const root = project(`${name}-build`, page);
    await vite.build({ ...quiet, root, configFile: false, base: "/app/" });
    const server = await vite.preview({ ...quiet, root, configFile: false, base: "/app/", preview: { host: "127.0.0.1", port: 0 } });
    try {
      const policy = "default-src 'none'; img-src data:; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ws://127.0.0.1:9; worker-src 'self'";
      await runs(`http://127.0.0.1:${server.httpServer.address().port}/app/`, policy);
    } finally {
      await new Promise((resolve) => server.httpServer.close(resolve));
    }
  });
}

test("the files that a page loads name no module of Node", () => {
  const folder = join(work, "package/dist");
  for (const file of ["index.js", "worker.js"]) {
    const imports = [...readFileSync(join(folder, file), "utf8").matchAll(/\b(?:import|from)\s*\(?\s*["']([^"'.][^"']*)["']/g)].map(([, name]) => name);
    assert.deepEqual(imports, [], file);
  }
});

test("Node imports it and runs the engine", () => {
  const folder = project("node", {
    "main.mjs": `import { connect } from "watchglass";
      class Refused extends EventTarget { constructor() { super(); setTimeout(() => this.onclose({ code: 1006, reason: "refused" })); } close() {} }
      const wg = await connect("ws://127.0.0.1:9/watch", { WebSocket: Refused });
      const pods = wg.collection("v1/pods");
      pods.subscribe(() => { if (pods.status.error) { console.log(pods.status.error.message); wg.close(); process.exit(); } });`,
  });
  assert.match(execFileSync(process.execPath, ["main.mjs"], { cwd: folder, encoding: "utf8" }), /cannot connect to ws:.*refused/);
});

for (const version of ["5.4", "5.9"]) {
  for (const [module, moduleResolution] of [["esnext", "bundler"], ["nodenext", "nodenext"]]) {
    test(`the types compile with TypeScript ${version}, ${moduleResolution}, and library checks`, () => {
      const options = { target: "es2022", lib: ["es2022", "dom"], module, moduleResolution, strict: true, skipLibCheck: false, types: [], noEmit: true };
      const folder = project(`types-${version}-${moduleResolution}`, {
        "tsconfig.json": JSON.stringify({ compilerOptions: options, include: ["main.ts", "adapters.ts"] }),
        "main.ts": `import { connect, type Row, WatchglassError } from "watchglass";
          export async function names(): Promise<string[]> {
            using wg = await connect("/watch");
            const view = wg.collection("v1/pods").view({ sort: "name" });
            await view.ready.catch((error: unknown) => error instanceof WatchglassError && error.code);
            return view.snapshot.rows.map((row: Row) => row.name);
          }`,
        // The adapters that have no dependency.
        "adapters.ts": `import { createClient } from "watchglass";
          import { makeInformer } from "watchglass/informer";
          import { viewStore } from "watchglass/stores";
          import { TestCluster } from "watchglass/testing";
          interface V1Pod { metadata?: { name?: string; namespace?: string; resourceVersion?: string }; status?: { phase?: string } }
          const cluster = new TestCluster();
          const client = createClient(cluster.url, cluster.options);
          const informer = makeInformer<V1Pod>(client, "/api/v1/pods");
          informer.on("update", (pod, previous) => console.log(pod.status?.phase, previous?.status?.phase));
          informer.on("error", (error) => console.error(error.statusCode));
          export const stop: () => void = viewStore(client, "v1/pods", { sort: "name" }).subscribe(({ rows, state }) => console.log(state, rows.length));
          export const phase: string | undefined = informer.get("web", "default")?.status?.phase;`,
      });
      const tsc = join(here, "node_modules", `typescript-${version}`, "bin/tsc");
      assert.ok(existsSync(tsc));
      try {
        execFileSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8", stdio: "pipe" });
      } catch (error) {
        assert.fail(error.stdout);
      }
    });
  }
}
