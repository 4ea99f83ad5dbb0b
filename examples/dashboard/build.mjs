// Builds the page into dist/ with the tools of the npm package in js/.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const pkg = join(here, "../../js");

/**
 * Bundles `entry` into `outdir` and copies the static files. It does not add the worker and the
 * WebAssembly module.
 */
export async function buildPage(entry, outdir, options = {}) {
  const esbuild = createRequire(join(pkg, "package.json"))("esbuild");
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  for (const file of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", file), join(outdir, file));
  await esbuild.build({
    entryPoints: [
      { in: join(here, entry), out: "app" },
      { in: join(here, "src/app.css"), out: "app" },
    ],
    outdir,
    bundle: true,
    format: "esm",
    target: ["es2022"],
    logLevel: "warning",
    alias: {
      "watchglass/groups": join(pkg, "dist/groups.js"),
      "watchglass/inspector": join(pkg, "dist/inspector.js"),
      "watchglass/search": join(pkg, "dist/search.js"),
      "watchglass/testing": join(pkg, "dist/testing.js"),
      "watchglass/tree": join(pkg, "dist/tree.js"),
      watchglass: join(pkg, "dist/index.js"),
    },
    ...options,
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dist = join(here, "dist");
  await buildPage("src/main.ts", dist, { minify: true });
  for (const file of ["worker.js", "watchglass.wasm"]) copyFileSync(join(pkg, "dist", file), join(dist, file));
}
