// Tests of the stores, and of the components of the README that use them.
import "global-jsdom/register";
import { cleanup, configure, waitFor } from "@testing-library/react";
import assert from "node:assert/strict";
import { build } from "esbuild";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, test, type TestContext } from "node:test";
import { compile } from "svelte/compiler";
import { get } from "svelte/store";
import { compileScript, parse } from "vue/compiler-sfc";
import type { WatchglassClient } from "../src/lazy.js";
import type { Scope } from "../src/live.js";
import { objectsStore, objectStore, rowChanges, statusStore, viewStore, type Readable } from "../src/stores.js";
import { TestCluster } from "../src/testing.js";
import { clientOf, pod, skip as noModule, stopClock, until } from "./cluster.js";
import { turn } from "./fake.js";
import { packaged } from "./paths.js";

configure({ asyncUtilTimeout: 20_000 }); // generous for a busy machine

const options = { skip: noModule, timeout: 30_000 };
afterEach(cleanup);

declare global {
  var testClient: WatchglassClient;
}

async function setup(t: TestContext) {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  cluster.apply(pod("b", { labels: { app: "api" } }));
  const client = await clientOf(t, cluster);
  globalThis.testClient = client;
  const inspect = async (name: string): Promise<number> => (await (await client.connect()).inspect())[name]!;
  return { cluster, client, inspect };
}

/** Subscribes to a store, and resolves when its value satisfies the condition. */
function becomes<Value>(t: TestContext, store: Readable<Value>, wanted: (value: Value) => boolean): Promise<void> {
  t.after(store.subscribe(() => {}));
  return until(store as unknown as { subscribe(listener: () => void): () => void }, () => wanted(store.get()));
}

test("a store has a value immediately, and follows the cluster while it has subscribers", options, async (t) => {
  const { cluster, client, inspect } = await setup(t);
  const store = viewStore(client, "v1/pods", { sort: "name" });
  const values: string[] = [];
  const stop = store.subscribe(({ view, rows }) => values.push(`${view} ${rows.map(({ name }) => name).join()}`));
  assert.deepEqual(values, ["loading "]);
  await waitFor(() => assert.equal(values.at(-1), "ready a,b"));
  cluster.apply(pod("c"));
  await waitFor(() => assert.equal(values.at(-1), "ready a,b,c"));
  assert.equal(get(store), store.get());
  const last = values.length;
  const stopOther = store.subscribe(({ rows }) => assert.equal(rows.length, 3));
  stop();
  stop(); // a second call has no effect
  assert.equal(await inspect("views"), 1, "another subscriber uses it");
  cluster.delete("v1/pods", "default/c");
  stopOther();
  assert.equal(await inspect("views"), 0);
  assert.equal(values.length, last);
});

test("a new query replaces the first, with or without subscribers", options, async (t) => {
  const { client } = await setup(t);
  const store = viewStore(client, "v1/pods");
  store.query({ labelSelector: "app=api" });
  await becomes(t, store, ({ rows }) => rows.map(({ name }) => name).join() === "b");
  store.query({ labelSelector: "app=web" });
  await becomes(t, store, ({ rows }) => rows.map(({ name }) => name).join() === "a");
});

test("stores of objects, of one object and of the status", options, async (t) => {
  const { cluster, client } = await setup(t);
  const [all, one, status] = [objectsStore(client, "v1/pods", { labelSelector: "app=web" }), objectStore(client, "v1/pods", "default/a"), statusStore(client, "v1/pods")];
  await becomes(t, all, ({ objects, loaded }) => loaded && objects.map(({ metadata }) => metadata.name).join() === "a");
  await becomes(t, one, ({ object }) => object?.metadata.name === "a");
  await becomes(t, status, (value) => value.status.state === "live");
  cluster.delete("v1/pods", "default/a");
  await becomes(t, one, ({ exists }) => exists === false);
  one.query("default/b");
  await becomes(t, one, ({ object }) => object?.metadata.name === "b");
});

test("stores share a collection if its options are equal", options, async (t) => {
  const { client, inspect } = await setup(t);
  const open = (scope: Scope) => becomes(t, viewStore(client, "v1/pods", { scope }), ({ view }) => view === "ready");
  await open({});
  await open({});
  assert.equal(await inspect("collections"), 1);
  const different: Scope[] = [{ namespace: "default" }, { labelSelector: "app=api" }, { fieldSelector: "status.phase=Running" }, { metadataOnly: true }, { rowsFirst: true }, { columns: [{ name: "App", kind: "string", path: ".metadata.labels.app" }] }];
  for (const [i, scope] of different.entries()) {
    await open(scope);
    assert.equal(await inspect("collections"), i + 2, JSON.stringify(scope));
  }
});

test("a collection stays open for 5 seconds after the last subscriber, and its watch for 5 more", options, async (t) => {
  const { cluster, client, inspect } = await setup(t);
  const store = statusStore(client, "v1/pods");
  const subscribe = async (): Promise<() => void> => {
    const stop = store.subscribe(() => {});
    await turn(); // the store opens the collection in a microtask
    return stop;
  };
  const opened = async () => ({ collections: await inspect("collections"), watches: cluster.watches });
  const open = { collections: 1, watches: ["v1/pods"] };
  await client.connect();
  const advance = stopClock(t);
  const stop = await subscribe();
  assert.equal((await opened()).collections, 1);
  while (cluster.watches.length === 0) await turn();
  stop();
  await advance(4999);
  assert.deepEqual(await opened(), open);
  const stopAgain = await subscribe();
  await advance(5000);
  assert.deepEqual(await opened(), open, "another subscriber uses it");
  stopAgain();
  await advance(4999);
  assert.deepEqual(await opened(), open);
  await advance(1);
  assert.deepEqual(await opened(), { collections: 0, watches: ["v1/pods"] }, "the engine keeps the objects");
  await advance(4999);
  assert.deepEqual(await opened(), { collections: 0, watches: ["v1/pods"] });
  await advance(1);
  assert.deepEqual(await opened(), { collections: 0, watches: [] });
});

test("the changes of a view's rows are those that entered, changed and left the window", options, async (t) => {
  const { cluster, client } = await setup(t);
  const store = viewStore(client, "v1/pods", { sort: "name", limit: 3 });
  const shown = (wanted: string) => becomes(t, store, ({ rows }) => rows.map(({ name, cells }) => `${name} ${cells.Status}`).join() === wanted);
  const names = (before: Parameters<typeof rowChanges>[0]): Record<string, string> =>
    Object.fromEntries(Object.entries(rowChanges(before, store.get().rows)).map(([kind, rows]) => [kind, rows.map((row: { name: string }) => row.name).join()]));
  await shown("a Running,b Running");
  assert.deepEqual(names([]), { added: "a,b", changed: "", removed: "" });
  let before = store.get().rows;
  cluster.update("v1/pods", "default/b", (object) => (object.status.phase = "Failed"));
  cluster.apply(pod("c"));
  await shown("a Running,b Failed,c Running");
  assert.deepEqual(names(before), { added: "c", changed: "b", removed: "" });
  assert.deepEqual(names(store.get().rows), { added: "", changed: "", removed: "" });
  before = store.get().rows;
  cluster.apply(pod("aa"));
  cluster.delete("v1/pods", "default/a");
  cluster.apply(pod("a"));
  await shown("a Running,aa Running,b Failed");
  await until({ subscribe: store.subscribe as never }, () => store.get().rows[0]!.uid !== before[0]!.uid);
  assert.deepEqual(names(before), { added: "a,aa", changed: "", removed: "a,c" });
});

test("subscribing and unsubscribing immediately does not connect", async () => {
  const store = viewStore({ connect: () => assert.fail("connected"), close() {}, async [Symbol.asyncDispose]() {} }, "v1/pods");
  assert.equal(get(store).state, "connecting");
  await new Promise(setImmediate);
});

/** Returns the first code block in a language from the README. */
const example = (language: string): string => new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "s").exec(readFileSync(packaged("README.md"), "utf8"))![1]!;

/**
 * Bundles and runs a program that uses the package. The program's createClient returns the client
 * of the test.
 */
async function run(t: TestContext, program: string, conditions: string[]): Promise<any> {
  const folder = mkdtempSync(join(packaged("build"), "example-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "client.js"), "export const createClient = () => globalThis.testClient;");
  writeFileSync(join(folder, "main.js"), program);
  const alias = { "watchglass/stores": packaged("src/stores.ts"), watchglass: join(folder, "client.js") };
  await build({ entryPoints: [join(folder, "main.js")], outfile: join(folder, "out.mjs"), bundle: true, format: "esm", platform: "neutral", mainFields: ["module", "main"], conditions, alias, logLevel: "error", define: { "process.env.NODE_ENV": '"production"', __VUE_OPTIONS_API__: "true", __VUE_PROD_DEVTOOLS__: "false", __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false" } });
  return import(pathToFileURL(join(folder, "out.mjs")).href);
}

/** Checks that a mounted example shows the current rows and closes its view. */
async function follows(t: TestContext, mounted: (target: HTMLElement) => () => void, { cluster, inspect }: Awaited<ReturnType<typeof setup>>): Promise<void> {
  const target = document.body.appendChild(document.createElement("main"));
  t.after(() => target.remove());
  const unmount = mounted(target);
  const text = (): string[] => [...target.children].flatMap((child) => (child.tagName === "UL" ? [...child.children] : [child])).map((element) => element.textContent!.trim());
  await waitFor(() => assert.deepEqual(text(), ["live, 2 pods", "default/a", "default/b"]));
  cluster.apply(pod("c"));
  await waitFor(() => assert.deepEqual(text(), ["live, 3 pods", "default/a", "default/b", "default/c"]));
  unmount();
  await waitFor(async () => assert.equal(await inspect("views"), 0));
}

test("the README's Svelte component", options, async (t) => {
  const fixture = await setup(t);
  const { js } = compile(example("svelte"), { generate: "client", name: "Pods" });
  const { mount, unmount, Pods } = await run(t, `${js.code.replace("export default", "export")}\nexport { mount, unmount } from "svelte";`, ["browser", "production"]);
  await follows(t, (target) => {
    const component = mount(Pods, { target });
    return () => void unmount(component);
  }, fixture);
});

test("the README's Vue component", options, async (t) => {
  const fixture = await setup(t);
  const { descriptor } = parse(example("vue"));
  const { content } = compileScript(descriptor, { id: "pods", inlineTemplate: true, genDefaultAs: "Pods" });
  const { createApp, Pods } = await run(t, `${content}\nexport { Pods };\nexport { createApp } from "vue";`, ["module", "import"]);
  await follows(t, (target) => {
    const app = createApp(Pods);
    app.mount(target);
    return () => app.unmount();
  }, fixture);
});
