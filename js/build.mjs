// Builds the package into dist/, or with --test the tests into build/test/.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Replaces the platform module of browsers by that of Node. */
const onNode = {
  name: "node platform",
  setup: ({ onResolve }) => onResolve({ filter: /^\.\/platform\.js$/ }, ({ resolveDir }) => ({ path: join(resolveDir, "platform-node.ts") })),
};

const common = { bundle: true, format: "esm", target: "es2022", sourcemap: true, logLevel: "warning" };

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
} else {
  rmSync("dist", { recursive: true, force: true });
  // The entry loads start.js only when the engine runs in its own thread. What both need is in shared.js.
  await build({ ...common, entryPoints: ["src/index.ts", "src/start.ts"], outdir: "dist", platform: "neutral", splitting: true, chunkNames: "shared" });
  // One file, so that it can be served from anywhere.
  await build({ ...common, entryPoints: ["src/worker.ts"], outdir: "dist", platform: "neutral" });
  await build({ ...common, entryPoints: { node: "src/index.ts" }, outdir: "dist", platform: "node", plugins: [onNode], external: ["ws"] });
  // Adapters carry what they share with each other, but nothing of the entry above.
  await build({ ...common, entryPoints: ["react", "informer", "inspector", "stores", "tanstack-db", "testing"].map((name) => `src/${name}.ts`), outdir: "dist", platform: "neutral", external: ["react"] });
  // Cloudflare's runtime loads the module by import.
  await build({ ...common, entryPoints: ["src/edge.ts", "src/workerd.ts"], outdir: "dist", platform: "neutral", external: ["./watchglass.wasm"] });
  const module = "watchglass.wasm";
  if (existsSync(`../build/${module}`)) copyFileSync(`../build/${module}`, `dist/${module}`);
  else console.warn(`../build/${module} is missing, and dist/ lacks it. Run "make wasm" first.`);
  execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
}
