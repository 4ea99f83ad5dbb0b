// Builds the worker into dist/ with the tools of the npm package. wrangler deploys the same files
// that workerd runs locally.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const pkg = join(root, "js");
const dist = join(here, "dist");

const esbuild = createRequire(join(pkg, "package.json"))("esbuild");
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await esbuild.build({
  entryPoints: [join(here, "src/worker.ts")],
  outfile: join(dist, "worker.js"),
  bundle: true,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  external: ["./watchglass.wasm", "./edge.wasm"],
  alias: { "watchglass/edge": join(pkg, "dist/edge.js") },
  minify: true,
  logLevel: "warning",
});
copyFileSync(join(pkg, "dist/watchglass.wasm"), join(dist, "watchglass.wasm"));
copyFileSync(join(root, "build/edge.wasm"), join(dist, "edge.wasm"));
