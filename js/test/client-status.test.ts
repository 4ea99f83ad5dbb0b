// Tests of the status of a client, with a fake engine and with the module in Node.
import "global-jsdom/register";
import { cleanup, configure, render, waitFor } from "@testing-library/react";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { createClient } from "../src/index.js";
import { lazy } from "../src/lazy.js";
import { useClientStatus, useView, WatchglassProvider } from "../src/react.js";
import { clientStatusStore } from "../src/stores.js";
import { TestCluster } from "../src/testing.js";
import type { ClientStatus } from "../src/types.js";
import { clientOf, connected, pod, skip as noModule, until } from "./cluster.js";
import { clientAt, fakeEngine, GuestError, say, speak, turn } from "./fake.js";

configure({ asyncUtilTimeout: 20_000 }); // generous for a busy machine
afterEach(cleanup);

const options = { skip: noModule, timeout: 60_000 };
const [connecting, syncing, live, reconnecting, stale, forbidden] = [0, 1, 2, 3, 4, 5] as const;
const status = (code: number) => ({ code, reason: "Any", message: `error ${code}` });

test("the status of a client is the worst of what it has open, where refused and absent resources count as live", async () => {
  const { engine, guest } = await fakeEngine();
  const wg = await clientAt(engine);
  assert.deepEqual(wg.status, { state: "idle" });
  const pods = wg.collection("v1/pods");
  assert.deepEqual(wg.status, { state: "connecting" });
  const secrets = wg.collection("v1/secrets");
  const config = wg.object("v1/configmaps", "default/a");
  await speak(wg, guest(), () => {});
  const [first, second] = guest().commands.filter(({ name }) => name === "OpenCollection").map(({ id }) => id);
  const { id: handle } = guest().last("AcquireObject");
  const shows = async (expected: ClientStatus, write: Parameters<typeof speak>[2]): Promise<void> => {
    await speak(wg, guest(), write);
    assert.deepEqual(wg.status, expected);
  };
  await shows({ state: "connecting" }, (w) => (say.state(w, first!, live), say.state(w, second!, syncing), say.objectState(w, handle, connecting)));
  await shows({ state: "syncing" }, (w) => say.objectState(w, handle, live));
  await shows({ state: "live" }, (w) => say.state(w, second!, forbidden, { status: status(403) }));
  await shows({ state: "live" }, (w) => say.state(w, second!, connecting, { status: status(404) }));
  await shows({ state: "reconnecting", error: status(500) }, (w) => say.state(w, first!, reconnecting, { status: status(500) }));
  await shows({ state: "stale", error: status(504) }, (w) => say.objectState(w, handle, stale, status(504)));
  await shows({ state: "unauthorized", error: status(401) }, (w) => say.state(w, second!, forbidden, { status: status(401) }));
  secrets.close();
  assert.deepEqual(wg.status, { state: "stale", error: status(504) });
  config.close();
  pods.close();
  assert.deepEqual(wg.status, { state: "idle" });
  assert.equal(wg.status, wg.status);
  wg.close();
  assert.equal(wg.status.state, "closed");
  assert.match((wg.status as ClientStatus & { state: "closed" }).error.message, /closed/);
});

test("listeners of a client are called for changes of its status only, also if the program reads it first", async (t) => {
  const { engine, guest } = await fakeEngine();
  const wg = await clientAt(engine);
  const { subscribe } = wg;
  const seen: string[] = [];
  const stop = subscribe(() => seen.push(wg.status.state));
  t.after(() => wg.close());
  wg.collection("v1/pods");
  assert.equal(wg.status.state, "connecting");
  const settled = () => new Promise((resolve) => setTimeout(resolve, 50)); // longer than a frame
  await settled();
  const { id } = guest().last("OpenCollection");
  await speak(wg, guest(), (w) => say.state(w, id, live));
  await settled();
  await speak(wg, guest(), (w) => say.state(w, id, live, { rv: 8 })); // only progress, which does not change the status
  await settled();
  assert.deepEqual(seen, ["connecting", "live"]);
  stop();
  await speak(wg, guest(), (w) => say.state(w, id, stale));
  await settled();
  assert.equal(seen.length, 2);
  subscribe(() => seen.push(wg.status.state));
  wg.close();
  assert.deepEqual(seen, ["connecting", "live", "closed"]);
});

test("an engine that is replaced makes a client reconnecting", async () => {
  const { engine, guest, guests } = await fakeEngine();
  const wg = await clientAt(engine);
  wg.collection("v1/pods");
  await speak(wg, guest(), () => {});
  guest().fault = new GuestError("it broke", true);
  await speak(wg, guest(), () => {});
  while (guests.length < 2) await turn();
  await turn();
  assert.equal(wg.status.state, "reconnecting");
  wg.close();
});

test("a client follows a real engine from idle to live, reconnecting and closed", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const wg = await connected(t, cluster);
  const pods = wg.collection("v1/pods");
  await until(wg, () => wg.status.state === "live");
  cluster.cut();
  await until(wg, () => wg.status.state === "reconnecting");
  assert.equal((wg.status as ClientStatus & { state: "reconnecting" }).error!.code, pods.status.error!.code);
  cluster.restore();
  wg.reconnect();
  await until(wg, () => wg.status.state === "live");
  cluster.deny("v1/secrets");
  const secrets = wg.collection("v1/secrets");
  await until(secrets, () => secrets.status.state === "forbidden");
  assert.equal(wg.status.state, "live");
});

test("a component and a store show the status of the client", options, async (t) => {
  const cluster = new TestCluster();
  cluster.apply(pod("a"));
  const client = await clientOf(t, cluster);
  const store = clientStatusStore(client);
  const states: string[] = [];
  const stop = store.subscribe(({ status }) => states.push(status.state));
  function Light() {
    useView("v1/pods");
    return h("p", {}, useClientStatus().state);
  }
  const page = h(WatchglassProvider, { client }, h(Light));
  assert.equal(renderToString(page), "<p>connecting</p>");
  const { findByText } = render(page);
  await findByText("live");
  await waitFor(() => assert.equal(states.at(-1), "live"));
  cluster.cut();
  await findByText("reconnecting");
  await waitFor(() => assert.equal(states.at(-1), "reconnecting"));
  stop();
  cleanup();
});

test("the status of a client that cannot connect has the reason", async () => {
  const unreachable = lazy(() => Promise.reject(new Error("no engine")));
  for (const [client, expected] of [[createClient("http://user@host"), /contains credentials/], [unreachable, /no engine/]] as const) {
    const store = clientStatusStore(client);
    await new Promise<void>((resolve) => void store.subscribe(({ status }) => status.state === "closed" && resolve()));
    assert.match((store.get().status as ClientStatus & { state: "closed" }).error.message, expected);
  }
});
