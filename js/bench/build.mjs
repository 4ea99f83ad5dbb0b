// Bundles the benchmarks into ../build/bench/. Each bundle contains the sources of the package and
// of the peer (client-node), so both sides of a comparison load in the same way.
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { build } = createRequire(here("../package.json"))("esbuild"); // the version of esbuild that the package uses

rmSync(here("../build/bench"), { recursive: true, force: true });
// The benchmarks measure only the peer's cache, and pass the bytes to it directly. The peer's
// network code is omitted, because it works only in Node.
const noNetwork = {
  name: "no network",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\/(watch|serializer)\.js|node:timers\/promises)$/ }, ({ path, importer }) =>
      importer.includes("client-node") ? { path, namespace: "absent" } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "absent" }, () => ({
      contents: "const absent = undefined; export { absent as Watch, absent as ObjectSerializer, absent as setTimeout };",
    }));
  },
};
const { version } = createRequire(import.meta.url)("../package.json");
const define = { packageVersion: JSON.stringify(version) };
const common = { bundle: true, format: "esm", target: "es2022", define, logLevel: "warning", outdir: here("../build/bench"), plugins: [noNetwork] };
await build({
  ...common,
  platform: "node",
  entryPoints: ["ingest-node", "ingest-chromium", "cold", "cold-side", "engine-node", "full-view", "get", "hours", "link", "live-query", "persist", "search", "table", "tabs", "tasks", "views"].map((name) => here(`${name}.mjs`)),
});
await build({ ...common, platform: "browser", entryPoints: [here("ingest-page.mjs")] });
// These pages use React's production build. The page of our side loads the worker of the package,
// which is not in the bundle.
await build({
  ...common, platform: "browser", minify: true, define: { ...define, "process.env.NODE_ENV": '"production"' },
  entryPoints: ["table-ours", "table-informer", "table-tanstack"].map((name) => here(`${name}.mjs`)),
});
