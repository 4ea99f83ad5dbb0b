// Tests the package in Node, and its types with several versions of TypeScript.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { here, rows, workspace } from "./support.mjs";

const space = workspace("node");

test("the files that a page loads name no module of Node", () => {
  for (const file of ["index.js", "start.js", "optional.js", "worker.js", "inline.js", "inspector.js"]) {
    const imports = [...readFileSync(join(space.dist, file), "utf8").matchAll(/\b(?:import|from)\s*\(?\s*["']([^"'.][^"']*)["']/g)].map(([, name]) => name);
    assert.deepEqual(imports, [], file);
  }
});

test("Node imports the package, runs the engine and exits when it is closed", async () => {
  const folder = space.project("esm", {
    "main.mjs": `import { connect } from "watchglass";
      const wg = await connect(${JSON.stringify(space.url)});
      const view = wg.collection("v1/pods").view({ sort: "name" });
      await view.ready;
      console.log("rows: " + view.snapshot.rows.map((row) => row.name).join(" "));
      wg.close();`,
  });
  // The call must be asynchronous, because the connector runs in this process.
  const { stdout } = await promisify(execFile)(process.execPath, ["main.mjs"], { cwd: folder, encoding: "utf8", timeout: 60_000 });
  assert.equal(stdout.trim(), rows);
});

const resolutions = [["esnext", "bundler"], ["node16", "node16"], ["nodenext", "nodenext"]];

const types = {
  "main.ts": `import { connect, type Row, WatchglassError } from "watchglass";
    export async function names(): Promise<string[]> {
      using wg = await connect("/watch");
      const view = wg.collection("v1/pods").view({ sort: "name" });
      await view.ready.catch((error: unknown) => error instanceof WatchglassError && error.code);
      return view.snapshot.rows.map((row: Row) => row.name);
    }`,
  // A program that uses the adapters without dependencies.
  "adapters.ts": `import { createClient } from "watchglass";
    import { makeInformer } from "watchglass/informer";
    import { viewStore } from "watchglass/stores";
    import { TestCluster } from "watchglass/testing";
    interface V1Pod { metadata?: { name?: string; namespace?: string; resourceVersion?: string }; status?: { phase?: string } }
    const cluster = new TestCluster();
    const client = createClient(cluster.url, cluster.options);
    const informer = makeInformer<V1Pod>(client, "/api/v1/pods");
    informer.on("update", (pod, previous) => console.log(pod.status?.phase, previous?.status?.phase));
    informer.on("error", (error) => console.error(error.statusCode));
    export const stop: () => void = viewStore(client, "v1/pods", { sort: "name" }).subscribe(({ rows, state }) => console.log(state, rows.length));
    export const phase: string | undefined = informer.get("web", "default")?.status?.phase;`,
};

for (const version of ["5.4", "5.9", "7.0"]) {
  for (const [module, moduleResolution] of resolutions) {
    test(`the types compile with TypeScript ${version}, ${moduleResolution}, and library checks`, () => {
      const options = { target: "es2022", lib: ["es2022", "dom"], module, moduleResolution, strict: true, skipLibCheck: false, types: [], noEmit: true };
      const folder = space.project(`types-${version}-${moduleResolution}`, {
        ...types,
        "tsconfig.json": JSON.stringify({ compilerOptions: options, include: ["main.ts", "adapters.ts"] }),
      });
      const tsc = join(here, "node_modules", `typescript-${version}`, "bin/tsc");
      try {
        execFileSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8", stdio: "pipe" });
      } catch (error) {
        assert.fail(error.stdout || error.message);
      }
    });
  }
}
