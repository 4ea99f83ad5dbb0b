// Tests of the React hooks in a DOM, with a fake engine.
import "global-jsdom/register";
import { cleanup, configure, render, waitFor } from "@testing-library/react";
import assert from "node:assert/strict";
import { afterEach, test, type TestContext } from "node:test";
import { createElement as h, StrictMode, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import type { Client } from "../src/client.js";
import { lazy, type WatchglassClient } from "../src/lazy.js";
import { createIndexer, type Indexer } from "../src/indexer.js";
import { useIndex, useK8sWatchResource, useObject, useStatus, useView, useWatch, WatchglassProvider, type QueryOptions, type ViewValue } from "../src/react.js";
import type { KubeObject } from "../src/types.js";
import { clientAt, fakeEngine, say, speak, turn } from "./fake.js";

configure({ asyncUtilTimeout: 20_000 }); // generous for a busy machine

const [live, forbidden] = [2, 5] as const;
const item = (name: string, rv = 1) => ({ key: `default/${name}`, rv, cells: ["Running"], body: { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" } } });

afterEach(cleanup);

async function setup(t: TestContext) {
  const fake = await fakeEngine();
  let connection: Promise<Client> | undefined;
  const client: WatchglassClient = lazy(() => (connection = clientAt(fake.engine)));
  t.after(() => client.close()); // also clears the timers of unused collections
  const respond = async (write: Parameters<typeof speak>[2]): Promise<void> => speak(await connection!, fake.guest(), write);
  const within = (...children: ReactNode[]) => h(WatchglassProvider, { client }, ...children);
  const opened = async (name: Parameters<ReturnType<typeof fake.guest>["count"]>[0], n = 1): Promise<number> => {
    await waitFor(() => assert.equal(fake.guest().count(name), n));
    return fake.guest().last(name).id;
  };
  return { ...fake, client, respond, within, opened };
}

/**
 * Returns a component that shows a view, and an array that receives the view's value at each
 * render.
 */
function table() {
  const renders: ViewValue[] = [];
  function Table({ resource = "v1/pods", ...options }: QueryOptions & { resource?: string }) {
    const value = useView(resource, options);
    renders.push(value);
    return h("p", {}, `${value.state} ${value.view} ${value.rows.map((row) => row.name).join(",")} of ${value.total}`);
  }
  return { Table, renders };
}

test("a table shows live rows, and renders only when they change", async (t) => {
  const { within, respond, opened } = await setup(t);
  const { Table, renders } = table();
  const { findByText } = render(within(h(Table, { sort: "name" })));
  await findByText("connecting loading of 0");
  const collection = await opened("OpenCollection");
  const view = await opened("OpenView");
  await respond((w) => (say.schema(w, collection), say.state(w, collection, live), say.rows(w, view, [item("a"), item("b")])));
  await findByText("live ready a,b of 2");
  const [before, count] = [renders.at(-1)!, renders.length];

  await respond((w) => say.state(w, collection, live, { rv: 7 }));
  await new Promise((resolve) => setTimeout(resolve, 50)); // longer than a frame, in which the component must not render
  assert.equal(renders.length, count, "progress alone causes no rendering");

  await respond((w) => say.patch(w, view, [[2, 0, [item("c")]]], { total: 3 }));
  await findByText("live ready a,b,c of 3");
  assert.equal(renders.at(-1)!.rows[0], before.rows[0]);
});

test("a component shows the rows of one value of an index, and renders only when they change", async (t) => {
  const { client, respond, opened } = await setup(t);
  const pods = (await client.connect()).collection("v1/pods");
  const collection = await opened("OpenCollection");
  await respond((w) => (say.schema(w, collection), say.state(w, collection, live)));
  const indexer = createIndexer(pods, { phase: "phase" });
  t.after(() => indexer.close());
  const watch = await opened("OpenWatch");
  let renders = 0;
  const Names = ({ indexer, phase }: { indexer?: Indexer<"phase">; phase: string }) => {
    renders++;
    return h("p", {}, `${phase}: ${useIndex(indexer, "phase", phase).map(({ name }) => name).join()}.`);
  };
  const { findByText, rerender } = render(h(Names, { phase: "Running" }));
  await findByText("Running: .");
  rerender(h(Names, { indexer, phase: "Running" }));
  await respond((w) => (say.changes(w, watch, 1, [item("a"), item("b")]), say.bookmark(w, watch, 1, 4)));
  await findByText("Running: a,b.");
  const count = renders;
  await respond((w) => say.changes(w, watch, 1, [{ ...item("c", 2), cells: ["Failed"] }]));
  await waitFor(() => assert.equal(indexer.size, 3));
  await respond((w) => say.changes(w, watch, 2, [{ ...item("b", 3), cells: ["Failed"] }]));
  await findByText("Running: a.");
  assert.equal(renders, count + 1);
  rerender(h(Names, { indexer, phase: "Failed" }));
  await findByText("Failed: b,c.");
  assert.equal(renderToString(h(Names, { indexer, phase: "Failed" })), "<p>Failed: .</p>");
});

test("a new query keeps the old rows until its own arrive, and shows its error with them", async (t) => {
  const { within, respond, opened, guest } = await setup(t);
  const { Table, renders } = table();
  const { findByText, rerender } = render(within(h(Table)));
  const collection = await opened("OpenCollection");
  await respond((w) => (say.schema(w, collection), say.state(w, collection, live)));
  const first = await opened("OpenView");
  await respond((w) => say.rows(w, first, [item("a")]));
  await findByText("live ready a of 1");

  rerender(within(h(Table, { labelSelector: "app=web" })));
  const second = await opened("OpenView", 2);
  await findByText("live loading a of 1");
  await respond((w) => say.rows(w, second, [item("b")]));
  await findByText("live ready b of 1");

  rerender(within(h(Table, { labelSelector: "app=web", sort: "Nope" })));
  const third = await opened("OpenView", 3);
  await respond((w) => say.rejected(w, 2, third, { code: 400, reason: "BadRequest", message: "unknown column" }));
  await waitFor(() => assert.equal(renders.at(-1)!.error?.message, "unknown column"));
  await findByText("live ready b of 1");

  rerender(within(h(Table, { labelSelector: "app=web", sort: "name", offset: 5 })));
  await opened("OpenView", 4);
  rerender(within(h(Table, { labelSelector: "app=web", sort: "name", offset: 9 })));
  await waitFor(() => assert.ok(guest().count("MoveView") >= 1));
  rerender(within(h(Table, { labelSelector: "app=web", sort: "name", anchor: { key: "default/a" } })));
  await waitFor(() => assert.ok(guest().count("MoveView") >= 2));
  assert.equal(guest().count("OpenView"), 4, "moving a window is not a new query");
  assert.equal(guest().count("OpenCollection"), 1);
});

test("StrictMode and remounted components share one collection and leave no view", async (t) => {
  const { within, opened, guest } = await setup(t);
  const { Table } = table();
  const { rerender } = render(h(StrictMode, {}, within(h(Table, { key: 1 }), h(Table, { key: 2, sort: "name" }))));
  await waitFor(() => assert.equal(guest().count("OpenView") - guest().count("CloseView"), 2));
  rerender(h(StrictMode, {}, within(h("p"))));
  await waitFor(() => assert.equal(guest().count("OpenView"), guest().count("CloseView")));
  rerender(h(StrictMode, {}, within(h(Table, { key: 3 }))));
  await waitFor(() => assert.equal(guest().count("OpenView") - guest().count("CloseView"), 1));
  await opened("OpenCollection");
  assert.equal(guest().count("CloseCollection"), 0, "the collection stays open for a while");
});

test("a server renders the loading state and does not connect", async () => {
  const { Table } = table();
  const client: WatchglassClient = { connect: () => assert.fail("connected"), close() {}, async [Symbol.asyncDispose]() {} };
  assert.equal(renderToString(h(WatchglassProvider, { client }, h(Table))), "<p>connecting loading  of 0</p>");
});

test("a failed connection is an error of the view, and the next component retries", async () => {
  let attempts = 0;
  const client = lazy(() => (attempts++, Promise.reject(new Error("no module"))));
  const { Table, renders } = table();
  const { rerender } = render(h(WatchglassProvider, { client }, h(Table, { key: 1 })));
  await waitFor(() => assert.equal(renders.at(-1)!.view, "error"));
  assert.deepEqual(renders.at(-1)!.error, { code: 500, reason: "InternalError", message: "no module" });
  rerender(h(WatchglassProvider, { client }, h(Table, { key: 2 })));
  await waitFor(() => assert.equal(attempts, 2));
});

test("a component outside of the provider throws", () => {
  const { Table } = table();
  assert.throws(() => renderToString(h(Table)), /no WatchglassProvider above/);
});

test("useObject follows one object", async (t) => {
  const { within, respond, opened, guest } = await setup(t);
  const Name = () => {
    const { object, exists, state } = useObject("v1/pods", "default/web");
    return h("p", {}, `${state} ${exists} ${object?.metadata.resourceVersion}`);
  };
  const { findByText, unmount } = render(within(h(Name)));
  const handle = await opened("AcquireObject");
  await respond((w) => (say.objectState(w, handle, live), say.changed(w, handle, item("web", 4), 4)));
  await findByText("live true 4");
  await respond((w) => say.changed(w, handle, undefined, 5));
  await findByText("live false undefined");
  unmount();
  await waitFor(() => assert.equal(guest().count("ReleaseObject"), 1));
});

test("useWatch returns all objects once they are loaded, and relists after a 410", async (t) => {
  const { within, respond, opened } = await setup(t);
  let shown: readonly KubeObject[] = [];
  const List = () => {
    const { objects, loaded, error } = useWatch("v1/pods", { labelSelector: "app=web" });
    shown = objects;
    return h("p", {}, `${loaded} ${objects.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).join(" ")} ${error?.message ?? ""}`);
  };
  const { findByText } = render(within(h(List)));
  const collection = await opened("OpenCollection");
  await respond((w) => (say.schema(w, collection), say.state(w, collection, live)));
  const watch = await opened("OpenWatch");
  await respond((w) => (say.changes(w, watch, 1, [item("b", 2), item("a", 1)]), say.bookmark(w, watch, 2, 4)));
  await findByText("true a@1 b@2");
  await respond((w) => (say.changes(w, watch, 2, [item("a", 3)]), say.changes(w, watch, 3, [item("b", 4)])));
  await findByText("true a@3");
  const [a] = shown;
  assert.throws(() => (a!.metadata.name = "changed"), TypeError, "components share the object");

  await respond((w) => say.watchClosed(w, watch, "Overtaken", { code: 410, reason: "Expired", message: "too slow" }));
  const next = await opened("OpenWatch", 2);
  await findByText("true a@3"); // the old data stays until the new watch has sent its initial events
  await respond((w) => (say.changes(w, next, 1, [item("a", 3), item("c", 9)]), say.bookmark(w, next, 9, 4)));
  await findByText("true a@3 c@9");
  assert.equal(shown[0], a, "an unchanged object stays the same after a relist");
});

test("useStatus follows the state of a collection", async (t) => {
  const { within, respond, opened } = await setup(t);
  const Light = () => h("p", {}, useStatus("v1/pods").state);
  const { findByText } = render(within(h(Light)));
  await findByText("connecting");
  const collection = await opened("OpenCollection");
  await respond((w) => say.state(w, collection, live));
  await findByText("live");
});

test("useK8sWatchResource returns data, loaded and error", async (t) => {
  const { within, respond, opened, guest } = await setup(t);
  const selector = { matchLabels: { app: "web" }, matchExpressions: [{ key: "tier", operator: "NotIn" as const, values: ["x", "y"] }] };
  const Watched = ({ name, off }: { name?: string; off?: boolean }) => {
    const [data, loaded, error] = useK8sWatchResource<any>(off ? null : { resource: "v1/pods", namespace: "default", selector, ...(name && { name }) });
    const text = Array.isArray(data) ? `[${data.map((o) => o.metadata.name).join()}]` : data && `{${data.metadata?.name}}`;
    return h("p", {}, `${loaded} ${text} ${error?.code}`);
  };
  const { findByText, rerender } = render(within(h(Watched, { off: true })));
  await findByText("true undefined undefined");
  await turn();
  assert.equal(guest().count("OpenCollection"), 0, "null opens nothing");
  rerender(within(h(Watched)));
  await findByText("false [] undefined");
  const collection = await opened("OpenCollection");
  await respond((w) => (say.schema(w, collection), say.state(w, collection, live)));
  const watch = await opened("OpenWatch");
  assert.match(new TextDecoder().decode(guest().last("OpenWatch").payload), /app=web,tier notin \(x,y\)/);
  await respond((w) => (say.changes(w, watch, 1, [item("a")]), say.bookmark(w, watch, 2, 4)));
  await findByText("true [a] undefined");
  await respond((w) => say.state(w, collection, forbidden, { status: { code: 403, reason: "Forbidden", message: "pods is forbidden" } }));
  await findByText("true [a] 403");

  rerender(within(h(Watched, { name: "web" })));
  await findByText("false {undefined} undefined");
  const handle = await opened("AcquireObject");
  await respond((w) => (say.objectState(w, handle, live), say.changed(w, handle, item("web", 4), 4)));
  await findByText("true {web} undefined");
  await respond((w) => say.changed(w, handle, undefined, 5));
  await findByText("true undefined undefined");
  rerender(within(h(Watched, { off: true })));
  await waitFor(() => assert.equal(guest().count("ReleaseObject"), 1, "null closes what was open"));
  await turn();
});
