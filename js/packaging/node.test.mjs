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
  "others.ts": `import type { Row, Watchglass } from "watchglass";
    import { edgeEntry, type EdgeEnv, type Grant, WatchglassObject } from "watchglass/edge";
    import { groupQuery } from "watchglass/groups";
    import { createIndexer, type Indexer } from "watchglass/indexer";
    import { connect, type InlineOptions, WatchglassError, whereText } from "watchglass/inline";
    import { WatchglassInspector } from "watchglass/inspector";
    import { type Kind, listKinds, schemaOf } from "watchglass/kinds";
    import { clearPersisted } from "watchglass/persistence";
    import { highlighter, type MatchRange } from "watchglass/search";
    import { ownerTree, type TreeNode } from "watchglass/tree";
    export class Cluster extends WatchglassObject {}
    const entry = edgeEntry(() => new Response("not found", { status: 404 }));
    export const fetch: (request: Request, env: EdgeEnv) => Response | Promise<Response> = (request, env) => entry.fetch(request, env, { waitUntil() {} });
    export const grant: Grant["resources"] = ["*"];
    const options: InlineOptions = { worker: "inline", token: "t0ken" };
    export async function rows(): Promise<Row[]> {
      const wg: Watchglass = await connect("/watch", options);
      const pods = wg.collection("v1/pods");
      const indexer: Indexer<"node"> = createIndexer(pods, { node: (row) => row.name });
      const query = { groupBy: ["namespace"], where: whereText(["name", "=", "web"]) };
      const view = pods.view(query);
      const [group] = view.snapshot.groups?.values ?? [];
      if (group) await view.query(groupQuery(query, group));
      const root: TreeNode | undefined = ownerTree([pods], "uid").snapshot.root;
      if (root?.row) return [root.row];
      return indexer.byIndex("node", "node-1").concat(view.snapshot.rows);
    }
    export async function kinds(wg: Watchglass): Promise<string[]> {
      const found: Kind[] = await listKinds("/api").catch((error: unknown) => error instanceof WatchglassError ? [] : Promise.reject(error));
      return [(await schemaOf(wg, "v1/pods")).kind, ...found.map(({ kind }) => kind)];
    }
    const find: (text: string) => MatchRange[] = highlighter("web");
    export const end: number | undefined = find("web-1")[0]?.[1];
    export const inspector: HTMLElement = new WatchglassInspector();
    export const signOut: () => Promise<void> = clearPersisted;`,
  "react.ts": `import { createElement, type ReactElement } from "react";
    import { createClient } from "watchglass";
    import { useView, WatchglassProvider } from "watchglass/react";
    const client = createClient("/watch");
    function Pods(): ReactElement {
      const { rows, view, error } = useView("v1/pods", { sort: "name" });
      return createElement("p", null, error?.message ?? view, ...rows.map((row) => row.name));
    }
    export const App = (): ReactElement => createElement(WatchglassProvider, { client }, createElement(Pods));`,
  "tanstack-db.ts": `import { createCollection } from "@tanstack/db";
    import { createClient } from "watchglass";
    import { watchglassCollectionOptions } from "watchglass/tanstack-db";
    interface V1Pod { metadata?: { name?: string }; status?: { phase?: string } }
    const pods = createCollection(watchglassCollectionOptions<V1Pod>({ client: createClient("/watch"), resource: "v1/pods" }));
    export const phase: string | undefined = pods.get("default/web-1")?.status?.phase;
    export const state: string = pods.utils.getStatus().state;`,
};

test("a typed program uses every entry that has types", () => {
  const { exports } = JSON.parse(readFileSync(join(here, "../package.json"), "utf8"));
  const typed = Object.keys(exports).filter((entry) => exports[entry].types);
  const used = Object.values(types).flatMap((text) => [...text.matchAll(/ from "watchglass(.*?)"/g)].map(([, path]) => `.${path}`));
  assert.deepEqual([...new Set(used)].sort(), typed.sort());
});

for (const version of ["5.4", "5.9", "7.0"]) {
  for (const [module, moduleResolution] of resolutions) {
    test(`the types compile with TypeScript ${version}, ${moduleResolution}, and library checks`, () => {
      const options = { target: "es2022", lib: ["es2022", "dom"], module, moduleResolution, strict: true, skipLibCheck: false, types: [], noEmit: true };
      const folder = space.project(`types-${version}-${moduleResolution}`, {
        ...types,
        "tsconfig.json": JSON.stringify({ compilerOptions: options, include: Object.keys(types) }),
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
