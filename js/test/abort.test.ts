// Tests of calls that an abort signal cancels.

import assert from "node:assert/strict";
import { test } from "node:test";
import { abortable } from "../src/abort.js";
import { Deferred } from "../src/deferred.js";
import { connect } from "../src/index.js";
import { lazy } from "../src/lazy.js";
import type { Watchglass } from "../src/types.js";
import { clientAt, fakeEngine, say, speak, turn } from "./fake.js";

const reason = new Error("the page was left");

/**
 * Returns a function that counts the listeners of a signal that were added but not removed.
 */
function counted(signal: AbortSignal): () => number {
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: unknown[]) => (listeners++, Reflect.apply(addEventListener, signal, args));
  signal.removeEventListener = (...args: unknown[]) => (listeners--, Reflect.apply(removeEventListener, signal, args));
  return () => listeners;
}

async function setup() {
  const { engine, guest } = await fakeEngine();
  const client = await clientAt(engine);
  const pods = client.collection("v1/pods");
  const object = client.object("v1/pods", "default/web-1");
  object.ready.catch(() => {});
  const view = pods.view();
  await turn();
  await speak(client, guest(), (w) => (say.schema(w, pods_id()), say.state(w, pods_id(), 2, { rv: 7, objects: 2 })));
  function pods_id(): number {
    return guest().last("OpenCollection").id;
  }
  return { client, guest, pods, object, view };
}

type Setup = Awaited<ReturnType<typeof setup>>;

const calls: Record<string, (s: Setup, signal: AbortSignal) => Promise<unknown>> = {
  "Collection.get": ({ pods }, signal) => pods.get("default/web-1", { signal }),
  "Collection.list": ({ pods }, signal) => pods.list({ signal }),
  "Collection.waitFor": ({ pods }, signal) => pods.waitFor("100", { signal }),
  "Collection.snapshot": ({ pods }, signal) => pods.snapshot({ signal })[Symbol.asyncIterator]().next(),
  "View.query": ({ view }, signal) => view.query({ sort: "name" }, { signal }),
  "ObjectHandle.get": ({ object }, signal) => object.get({ signal }),
  "Watchglass.inspect": ({ client }, signal) => client.inspect({ signal }),
};

for (const [name, call] of Object.entries(calls)) {
  test(`${name} ends with its signal`, async () => {
    const s = await setup();
    const controller = new AbortController();
    const listeners = counted(controller.signal);
    const waiting = call(s, controller.signal);
    await turn();
    controller.abort(reason);
    await assert.rejects(waiting, reason);
    assert.equal(listeners(), 0);
    const sent = s.guest().commands.length;
    await assert.rejects(call(s, controller.signal), reason);
    await turn();
    assert.ok(!s.guest().commands.slice(sent).some((commands) => /^(Get|List|OpenView|GetObject|Inspect|TakeSnapshot)$/.test(commands.name)), "an aborted call sends its command");
    s.client.close();
  });
}

test("a call that completes before its signal is aborted leaves no listener", async () => {
  const { client, guest, pods } = await setup();
  const { signal } = new AbortController();
  const listeners = counted(signal);
  const found = pods.get("default/web-1", { signal });
  await turn();
  assert.equal(listeners(), 1);
  await speak(client, guest(), (w) => say.object(w, guest().last("Get").id, { key: "default/web-1", rv: 42, body: { metadata: { name: "web-1" } } }));
  assert.equal((await found).metadata.resourceVersion, "42");
  assert.equal(listeners(), 0);
  client.close();
});

test("connect rejects when its signal is aborted, before or during the call", async () => {
  const controller = new AbortController();
  const options = { worker: "inline", signal: controller.signal } as const;
  const connecting = connect("ws://127.0.0.1:9/watch", options);
  controller.abort(reason);
  await assert.rejects(connecting, reason);
  await assert.rejects(connect("ws://127.0.0.1:9/watch", options), reason);
});

test("a signal ends one call of a client that connects, and not the others", async () => {
  const { client: wg } = await setup();
  const controller = new AbortController();
  const connection = new Deferred<Watchglass>();
  const client = lazy(() => connection.promise);
  const [aborted, other] = [client.connect({ signal: controller.signal }), client.connect()];
  controller.abort(reason);
  await assert.rejects(aborted, reason);
  connection.resolve(wg);
  assert.equal(await other, wg);
  client.close();
});

test("a result that arrives after the abort is closed", async () => {
  const controller = new AbortController();
  const late: string[] = [];
  let finish!: (result: string) => void;
  const waiting = abortable(() => new Promise<string>((resolve) => (finish = resolve)), controller.signal, (result) => late.push(result));
  controller.abort(reason);
  await assert.rejects(waiting, reason);
  finish("a connection");
  await turn();
  assert.deepEqual(late, ["a connection"]);
});
