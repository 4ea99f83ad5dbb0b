// Tests the package with bundlers other than Vite, and in pages without a bundler.

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

const runs = (folder, options) => served(folder, strictPolicy(space.url), (origin) => showsRows(space, `${origin}/`, options));

test("webpack builds a page without configuration", { timeout: 120_000 }, async () => {
  const { default: webpack } = await import("webpack");
  const root = space.project("webpack", { "main.js": script(space.url), "dist/index.html": html("/main.js") });
  const compiler = webpack({ mode: "production", context: root, entry: "./main.js", output: { path: join(root, "dist"), publicPath: "/" }, performance: { hints: false } });
  const stats = await new Promise((resolve, reject) => compiler.run((error, result) => (error ? reject(error) : resolve(result))));
  if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString("errors-warnings"));
  await new Promise((resolve) => compiler.close(resolve));
  await runs(join(root, "dist"));
});

test("Rollup builds a page in one file whose engine runs in its own thread", { timeout: 120_000 }, async () => {
  const { rollup } = await import("rollup");
  const root = space.project("rollup-inline", { "main.js": script(space.url, '{ worker: "inline" }'), "dist/index.html": html("/main.js") });
  const bundle = await rollup({ input: join(root, "main.js"), plugins: [nodeResolve({ browser: true })] });
  await bundle.write({ file: join(root, "dist/main.js"), format: "es", inlineDynamicImports: true });
  await bundle.close();
  copyFileSync(join(space.dist, "watchglass.wasm"), join(root, "dist/watchglass.wasm"));
  await runs(join(root, "dist"), { connections: 2 });
});

test("Rollup builds a page that finds the worker beside its script", { timeout: 120_000 }, async () => {
  const { rollup } = await import("rollup");
  const root = space.project("rollup", { "main.js": script(space.url), "dist/index.html": html("/main.js") });
  const bundle = await rollup({ input: join(root, "main.js"), plugins: [nodeResolve({ browser: true })] });
  await bundle.write({ dir: join(root, "dist"), format: "es" });
  await bundle.close();
  copyAssets(join(root, "dist"));
  await runs(join(root, "dist"));
});

test("esbuild builds a page that is given the locations of worker and module", { timeout: 120_000 }, async () => {
  const { build } = await import("esbuild");
  const root = space.project("esbuild", { "main.js": script(space.url, '{ workerURL: "/vendor/worker.js", wasm: "/vendor/watchglass.wasm" }'), "dist/index.html": html("/assets/main.js"), "dist/vendor/README": "" });
  await build({ entryPoints: [join(root, "main.js")], bundle: true, minify: true, splitting: true, format: "esm", outdir: join(root, "dist/assets"), logLevel: "warning" });
  copyAssets(join(root, "dist/vendor"));
  await runs(join(root, "dist"));
});

test("a page without a bundler loads the package by an import map", { timeout: 120_000 }, async () => {
  const imports = { imports: { watchglass: "/node_modules/watchglass/dist/index.js" } };
  const root = space.project("plain", { "main.js": script(space.url), "index.html": html("/main.js", `<script type="importmap">${JSON.stringify(imports)}</script>`) });
  // The import map is an inline script, which the strict policy forbids.
  await served(root, undefined, (origin) => showsRows(space, `${origin}/`));
});
