// Bundles the benchmarks into ../build/bench/, with the sources of the package and
// with the peers, so that both sides of a figure are loaded alike.
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { build } = createRequire(here("../package.json"))("esbuild"); // the package's own

rmSync(here("../build/bench"), { recursive: true, force: true });
// Of the peer, its cache is what counts. What opens connections for it works in
// Node alone, and is not used anywhere: the benchmark hands the bytes over itself.
const noNetwork = {
  name: "no network",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(\.\/(watch|serializer)\.js|node:timers\/promises)$/ }, ({ path }) => ({ path, namespace: "absent" }));
    onLoad({ filter: /.*/, namespace: "absent" }, () => ({
      contents: "const absent = undefined; export { absent as Watch, absent as ObjectSerializer, absent as setTimeout };",
    }));
  },
};
const common = { bundle: true, format: "esm", target: "es2022", logLevel: "warning", outdir: here("../build/bench"), plugins: [noNetwork] };
await build({
  ...common,
  platform: "node",
  entryPoints: ["ingest-node", "ingest-chromium", "cold", "cold-side", "engine-node", "views"].map((name) => here(`${name}.mjs`)),
});
await build({ ...common, platform: "browser", entryPoints: [here("ingest-page.mjs")] });
