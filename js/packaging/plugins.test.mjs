// Tests pages that cannot serve the package's files from their own origin: plugins of other
// programs, content delivery networks, and pages with Trusted Types.

import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { html, script, served, showsRows, strictPolicy, workspace } from "./support.mjs";

const space = workspace("plugins");

/**
 * Returns a content security policy that allows scripts only from the page's origin, and workers
 * only from blobs.
 */
const inlinePolicy = (url) => strictPolicy(url).replace("worker-src 'self'", "worker-src blob:").replace("connect-src 'self'", "connect-src");

/** Options for pages in which each tab has its own engine. */
const separate = { connections: 2 };

async function bundled(name, program) {
  const { build } = await import("esbuild");
  const root = space.project(name, { "main.js": program, "dist/index.html": html("/app.js") });
  await build({ entryPoints: [join(root, "main.js")], bundle: true, format: "esm", outfile: join(root, "dist/app.js"), logLevel: "error" });
  return join(root, "dist");
}

const inline = (url, options) => script(url, options).replace('"watchglass"', '"watchglass/inline"');

test("a page loads everything in one file", { timeout: 120_000 }, async () => {
  const folder = await bundled("inline", inline(space.url));
  await served(folder, inlinePolicy(space.url), (origin) => showsRows(space, `${origin}/`, separate));
});

test("a page loads everything in one file, and runs the engine in its own thread", { timeout: 120_000 }, async () => {
  const folder = await bundled("inline-thread", inline(space.url, '{ worker: "inline" }'));
  const policy = inlinePolicy(space.url).replace("worker-src blob:", "worker-src 'none'");
  await served(folder, policy, (origin) => showsRows(space, `${origin}/`, separate));
});

test("a classic script uses the package as a global variable", { timeout: 120_000 }, async () => {
  const page = '<!doctype html><link rel="icon" href="data:,"><p>loading</p><script src="/watchglass.iife.js"></script><script src="/main.js"></script>';
  const program = script(space.url).replace('import { connect } from "watchglass";', "const { connect } = watchglass;");
  const root = space.project("iife", { "main.js": program, "index.html": page });
  copyFileSync(join(space.dist, "watchglass.iife.js"), join(root, "watchglass.iife.js"));
  await served(root, inlinePolicy(space.url), (origin) => showsRows(space, `${origin}/`, separate));
});

test("a plugin host gets everything in one UMD file of Vite", { timeout: 120_000 }, async () => {
  const { build } = await import("vite-7");
  const page = '<!doctype html><link rel="icon" href="data:,"><p>loading</p><script src="/plugin.js"></script>';
  const root = space.project("umd", { "main.js": inline(space.url), "dist/index.html": page });
  const lib = { entry: join(root, "main.js"), name: "plugin", fileName: () => "plugin.js", formats: ["umd"] };
  await build({ root, configFile: false, logLevel: "silent", build: { lib, outDir: join(root, "dist"), emptyOutDir: false } });
  await served(join(root, "dist"), inlinePolicy(space.url), (origin) => showsRows(space, `${origin}/`, separate));
});

/**
 * Serves the package from another origin, as a content delivery network does, while `use` runs.
 * `use` receives that origin.
 */
function onNetwork(use) {
  const root = space.project("network", {});
  cpSync(space.dist, join(root, "watchglass"), { recursive: true });
  return served(root, undefined, use);
}

const remotePolicy = (url, network) =>
  `default-src 'none'; img-src data:; script-src 'self' ${network} 'wasm-unsafe-eval'; connect-src ${network} ${new URL(url).origin}; worker-src 'self' blob: ${network}`;

test("a page loads the package from another origin, and an elected tab runs the worker for all", { timeout: 120_000 }, () =>
  onNetwork(async (network) => {
    const program = script(space.url).replace('"watchglass"', JSON.stringify(`${network}/watchglass/index.js`));
    const root = space.project("remote", { "main.js": program, "index.html": html("/main.js") });
    await served(root, remotePolicy(space.url, network), (origin) => showsRows(space, `${origin}/`));
  }));

test("a bundled page is given a worker of another origin", { timeout: 120_000 }, () =>
  onNetwork(async (network) => {
    const folder = await bundled("remote-worker", script(space.url, JSON.stringify({ workerURL: `${network}/watchglass/worker.js` })));
    await served(folder, remotePolicy(space.url, network), (origin) => showsRows(space, `${origin}/`));
  }));

test("tabs share a worker that is copied to their origin, with the module from another one", { timeout: 120_000 }, () =>
  onNetwork(async (network) => {
    const program = script(space.url, JSON.stringify({ workerURL: "/worker.js", wasm: `${network}/watchglass/watchglass.wasm` }));
    const root = space.project("remote-module", { "main.js": program.replace('"watchglass"', JSON.stringify(`${network}/watchglass/index.js`)), "index.html": html("/main.js") });
    copyFileSync(join(space.dist, "worker.js"), join(root, "worker.js"));
    await served(root, remotePolicy(space.url, network), (origin) => showsRows(space, `${origin}/`));
  }));

const trustedPolicy = (policy, name) => `${policy}; require-trusted-types-for 'script'; trusted-types ${name}`;

test("a page with Trusted Types passes the location of the worker as a TrustedScriptURL", { timeout: 120_000 }, async () => {
  const program = `const policy = trustedTypes.createPolicy("app", { createScriptURL: (url) => { if (url !== "/worker.js") throw new TypeError(url); return url; } });
    ${script(space.url, '{ workerURL: policy.createScriptURL("/worker.js") }').replace('"watchglass"', '"/watchglass/index.js"')}`;
  const root = space.project("trusted", { "main.js": program, "index.html": html("/main.js") });
  cpSync(space.dist, join(root, "watchglass"), { recursive: true });
  for (const file of ["worker.js", "watchglass.wasm"]) copyFileSync(join(space.dist, file), join(root, file));
  await served(root, trustedPolicy(strictPolicy(space.url), "app"), (origin) => showsRows(space, `${origin}/`));
});

test("a page with Trusted Types loads everything in one file", { timeout: 120_000 }, async () => {
  const folder = await bundled("trusted-inline", inline(space.url));
  await served(folder, trustedPolicy(inlinePolicy(space.url), "watchglass"), (origin) => showsRows(space, `${origin}/`, separate));
});
