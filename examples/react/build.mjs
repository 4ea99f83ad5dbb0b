// Builds the page into dist/.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const pkg = join(here, "../../js");
const esbuild = createRequire(join(pkg, "package.json"))("esbuild");

/** Builds the page with the package of this repository. */
export async function build(outdir) {
  rmSync(outdir, { recursive: true, force: true });
  mkdirSync(outdir, { recursive: true });
  await esbuild.build({
    entryPoints: [join(here, "app.tsx")],
    outdir,
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    minify: true,
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
    // In your project: npm install watchglass react react-dom.
    alias: {
      "watchglass/groups": join(pkg, "dist/groups.js"),
      "watchglass/react": join(pkg, "dist/react.js"),
      watchglass: join(pkg, "dist/index.js"),
    },
    nodePaths: [join(pkg, "node_modules")],
  });
  copyFileSync(join(here, "index.html"), join(outdir, "index.html"));
  for (const file of ["worker.js", "watchglass.wasm"]) copyFileSync(join(pkg, "dist", file), join(outdir, file));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build(join(here, "dist"));
