// Builds the package into dist/. With --edge, builds only the part for the edge. With --test,
// builds the tests into build/test/ instead.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const module = "../build/watchglass.wasm";

/** A plugin that replaces the platform module for browsers with the one for Node. */
const onNode = {
  name: "node platform",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\.\/platform\.js$/ }, ({ resolveDir }) => (basename(resolveDir) === "src" ? { path: join(resolveDir, "platform-node.ts") } : undefined)),
};

/**
 * A plugin that provides the compressed module and the worker's script as strings, for bundles that
 * contain them.
 */
const inlineFiles = {
  name: "inline files",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^inline:/ }, ({ path }) => ({ path, namespace: "inline" }));
    onLoad({ filter: /^inline:module$/, namespace: "inline" }, () => ({ loader: "text", contents: gzipSync(readFileSync(module), { level: 9 }).toString("base64") }));
    onLoad({ filter: /^inline:worker$/, namespace: "inline" }, async () => {
      const { outputFiles } = await build({ ...common, sourcemap: false, minify: true, entryPoints: ["src/worker.ts"], platform: "neutral", write: false });
      return { loader: "text", contents: outputFiles[0].text };
    });
  },
};

/**
 * A plugin that keeps the dynamic imports out of the bundle of the entry, so that they are loaded
 * as separate files.
 */
const apart = {
  name: "apart",
  setup: ({ onResolve }) => onResolve({ filter: /^\.\/(start|optional)\.js$/ }, ({ path, kind }) => (kind === "dynamic-import" ? { path, external: true } : undefined)),
};

/**
 * Builds the entries for Cloudflare's runtime, which loads the WebAssembly module with an import.
 */
async function buildEdge() {
  await build({ ...common, entryPoints: ["src/edge.ts", "src/workerd.ts"], outdir: "dist", platform: "neutral", external: ["./watchglass.wasm"] });
  copyFileSync(module, "dist/watchglass.wasm");
}

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const define = { packageVersion: JSON.stringify(version) };
const common = { bundle: true, format: "esm", target: "es2022", sourcemap: true, define, logLevel: "warning" };

if (process.argv.includes("--test")) {
  rmSync("build/test", { recursive: true, force: true });
  await build({
    ...common,
    entryPoints: readdirSync("test").filter((f) => f.endsWith(".test.ts")).map((f) => `test/${f}`),
    outdir: "build/test",
    platform: "node",
    plugins: [onNode],
    packages: "external",
    sourcemap: "inline",
  });
} else if (!existsSync(module)) {
  throw new Error(`${module} is missing; run "make wasm" first`);
} else if (process.argv.includes("--edge")) {
  await buildEdge();
} else {
  rmSync("dist", { recursive: true, force: true });
  // The entry loads start.js only when the engine runs in the same thread, and optional.js when a
  // page needs it. Each bundle contains a copy of the code that these files share, because a common
  // file would make the entry a kilobyte larger.
  await build({ ...common, entryPoints: ["src/index.ts"], outdir: "dist", platform: "neutral", plugins: [apart] });
  await build({ ...common, entryPoints: ["src/start.ts", "src/optional.ts"], outdir: "dist", platform: "neutral" });
  // The worker is one file, so that programs can serve it from any path.
  await build({ ...common, entryPoints: ["src/worker.ts"], outdir: "dist", platform: "neutral" });
  await build({ ...common, entryPoints: { node: "src/index.ts" }, outdir: "dist", platform: "node", plugins: [onNode], external: ["ws"] });
  // Each adapter contains the code that it shares with other adapters, but no code of the main
  // entry.
  await build({ ...common, entryPoints: ["react", "groups", "indexer", "informer", "inspector", "kinds", "persistence", "search", "stores", "tanstack-db", "testing", "tree"].map((name) => `src/${name}.ts`), outdir: "dist", platform: "neutral", external: ["react"] });
  // These two bundles contain the worker and the module, for programs that must consist of one
  // file. They have no source maps. Each map would contain a second copy of the module, so that the
  // tarball would grow from 3.4 MB to 5.3 MB.
  const inline = { ...common, sourcemap: false, minify: true, platform: "neutral", plugins: [inlineFiles], define: { ...define, "import.meta.url": '""' } };
  await build({ ...inline, entryPoints: ["src/inline.ts"], outdir: "dist" });
  await build({ ...inline, entryPoints: { "watchglass.iife": "src/inline.ts" }, outdir: "dist", format: "iife", globalName: "watchglass" });
  await buildEdge();
  execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
}
