// Tests the package with bundlers other than Vite, and in pages without a bundler.

import { createHash } from "node:crypto";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { html, script, served, showsRows, strictPolicy, workspace } from "./support.mjs";

const space = workspace("bundlers");

/**
 * Copies the worker and the module, which a bundler without support for asset URLs does not copy.
 */
function copyAssets(to) {
  for (const file of ["worker.js", "watchglass.wasm"]) copyFileSync(join(space.dist, file), join(to, file));
}

/** The paths below which the tests serve pages. */
const bases = ["/", "/app/"];

/**
 * Serves the folder `dist` of a project, which contains a page below a base path, and checks the
 * page.
 */
const runsBelow = (base, root) => served(join(root, "dist"), strictPolicy(space.url), (origin) => showsRows(space, origin + base));

for (const base of bases) {
  const name = base.replaceAll("/", "-");

  test(`webpack builds a page below ${base} without configuration of workers`, { timeout: 120_000 }, async () => {
    const { default: webpack } = await import("webpack");
    const root = space.project(`webpack${name}`, { "main.js": script(space.url), [`dist${base}index.html`]: html(`${base}main.js`) });
    const compiler = webpack({ mode: "production", context: root, entry: "./main.js", output: { path: join(root, "dist", base), publicPath: base }, performance: { hints: false } });
    const stats = await new Promise((resolve, reject) => compiler.run((error, result) => (error ? reject(error) : resolve(result))));
    if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString("errors-warnings"));
    await new Promise((resolve) => compiler.close(resolve));
    await runsBelow(base, root);
  });

  test(`Rollup builds a page below ${base} that finds the worker beside its script`, { timeout: 120_000 }, async () => {
    const { rollup } = await import("rollup");
    const root = space.project(`rollup${name}`, { "main.js": script(space.url), [`dist${base}index.html`]: html(`${base}main.js`) });
    const bundle = await rollup({ input: join(root, "main.js"), plugins: [nodeResolve({ browser: true })] });
    await bundle.write({ dir: join(root, "dist", base), format: "es" });
    await bundle.close();
    copyAssets(join(root, "dist", base));
    await runsBelow(base, root);
  });

  test(`esbuild builds a page below ${base} that is given the locations of worker and module`, { timeout: 120_000 }, async () => {
    const { build } = await import("esbuild");
    const locations = JSON.stringify({ workerURL: `${base}vendor/worker.js`, wasm: `${base}vendor/watchglass.wasm` });
    const root = space.project(`esbuild${name}`, { "main.js": script(space.url, locations), [`dist${base}index.html`]: html(`${base}assets/main.js`), [`dist${base}vendor/README`]: "" });
    await build({ entryPoints: [join(root, "main.js")], bundle: true, minify: true, splitting: true, format: "esm", outdir: join(root, "dist", base, "assets"), logLevel: "warning" });
    copyAssets(join(root, "dist", base, "vendor"));
    await runsBelow(base, root);
  });

  // The policy contains the hash of the import map, which is an inline script.
  test(`a page below ${base} without a bundler loads the package by an import map`, { timeout: 120_000 }, async () => {
    const imports = JSON.stringify({ imports: { watchglass: "./node_modules/watchglass/dist/index.js" } });
    const root = space.project(`plain${name}${base}`, { "main.js": script(space.url), "index.html": html("main.js", `<script type="importmap">${imports}</script>`) });
    const hash = createHash("sha256").update(imports).digest("base64");
    const policy = strictPolicy(space.url).replace("script-src 'self'", `script-src 'self' 'sha256-${hash}'`);
    await served(root.slice(0, -base.length), policy, (origin) => showsRows(space, origin + base));
  });
}

test("Rollup builds a page in one file whose engine runs in its own thread", { timeout: 120_000 }, async () => {
  const { rollup } = await import("rollup");
  const root = space.project("rollup-inline", { "main.js": script(space.url, '{ worker: "inline" }'), "dist/index.html": html("/main.js") });
  const bundle = await rollup({ input: join(root, "main.js"), plugins: [nodeResolve({ browser: true })] });
  await bundle.write({ file: join(root, "dist/main.js"), format: "es", inlineDynamicImports: true });
  await bundle.close();
  copyFileSync(join(space.dist, "watchglass.wasm"), join(root, "dist/watchglass.wasm"));
  await served(join(root, "dist"), strictPolicy(space.url), (origin) => showsRows(space, `${origin}/`, { connections: 2 }));
});
