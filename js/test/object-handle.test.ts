import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { WatchglassError } from "../src/errors.js";
import { Reader } from "../src/wire/codec.js";
import { clientAt, fakeEngine, GuestError, say, speak, turn } from "./fake.js";

const live = 2;
const forbidden = 5;
const closed = 6;
const denied = { code: 403, reason: "Forbidden", message: "secrets is forbidden" };
const absent = { code: 404, reason: "NotFound", message: 'secrets "ns/tls" not found' };

async function setup() {
  const fake = await fakeEngine();
  const client = await clientAt(fake.engine);
  return { ...fake, client };
}

async function withObject() {
  const s = await setup();
  const object = s.client.object("v1/secrets", "ns/tls", { owner: "page" });
  await turn();
  return { ...s, object, id: s.guest().last("AcquireObject").id };
}

const frame = () => new Promise((resolve) => setTimeout(resolve, 5));
const body = (data: string) => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "tls" }, data: { data } });

test("a handle reports the known state of its object", async () => {
  const { object, id, client, guest } = await withObject();
  const r = new Reader(guest().last("AcquireObject").payload, "test");
  assert.deepEqual([r.uvarint(), r.text(), r.text(), r.text(), r.bool()], [id, "v1/secrets", "ns/tls", "page", false]);
  assert.equal(object.state, "connecting");
  assert.equal(object.exists, undefined);

  let calls = 0;
  const stop = object.subscribe(() => calls++);
  await speak(client, guest(), (w) => (say.changed(w, id, { key: "ns/tls", rv: 7, body: body("a") }, 9), say.objectState(w, id, live)));
  await object.ready;
  await frame();
  assert.equal(calls, 1, "one call for all changes of a frame");
  assert.equal(object.state, "live");
  assert.equal(object.exists, true);
  assert.equal(object.current?.metadata.resourceVersion, "7");
  const first = object.current;
  assert.ok(Object.isFrozen(first) && Object.isFrozen(first!["data"]));

  await speak(client, guest(), (w) => say.objectState(w, id, forbidden, denied));
  assert.equal(object.current, first, "the known object remains");
  assert.deepEqual([object.state, object.error?.code], ["forbidden", 403]);
  await frame();

  await speak(client, guest(), (w) => say.changed(w, id, undefined, 11));
  assert.deepEqual([object.current, object.exists], [undefined, false]);
  await frame();
  stop();
  await speak(client, guest(), (w) => say.changed(w, id, { key: "ns/tls", rv: 12, body: body("b") }));
  await frame();
  assert.equal(calls, 3);
});

test("get requests the current object", async () => {
  const { object, client, guest } = await withObject();
  const [found, missing] = [object.get(), object.get()];
  await turn();
  const [first, second] = guest().commands.filter((h) => h.name === "GetObject");
  const r = new Reader(first!.payload, "test");
  assert.deepEqual([r.uvarint(), r.text(), r.text()], [first!.id, "v1/secrets", "ns/tls"]);
  await speak(client, guest(), (w) => (say.object(w, first!.id, { key: "ns/tls", rv: 7, body: body("a") }), say.error(w, second!.id, absent)));
  assert.equal((await found).metadata.resourceVersion, "7");
  await assert.rejects(missing, (e: unknown) => e instanceof WatchglassError && e.code === 404);
});

test("each handle is a reference that is released once", async () => {
  const { client, guest, object } = await withObject();
  const other = client.object("v1/secrets", "ns/tls");
  await turn();
  assert.equal(guest().count("AcquireObject"), 2);
  object.close();
  object[Symbol.dispose]();
  await turn();
  assert.equal(guest().count("ReleaseObject"), 1);
  assert.deepEqual([object.state, other.state], ["closed", "connecting"]);
  await assert.rejects(object.ready, /is closed/);
  await assert.rejects(object.get(), /v1\/secrets ns\/tls is closed/);
});

test("a client that closes releases its references", async () => {
  const { client, guest, object, id } = await withObject();
  const seconds = client.object("v1/secrets", "ns/other");
  await turn();
  seconds.close();
  await turn();
  client.close();
  assert.deepEqual(guest().commands.filter((h) => h.name === "ReleaseObject").map((h) => h.id).at(-1), id);
  assert.equal(guest().count("ReleaseObject"), 2);
  assert.equal(object.state, "closed");
  assert.throws(() => client.object("v1/secrets", "ns/tls"), /is closed/);
});

test("a refusal ends the handle", async () => {
  const { client, guest, object, id } = await withObject();
  let state = "";
  object.subscribe(() => (state = object.state));
  await speak(client, guest(), (w) => say.rejected(w, 3, id, { code: 400, reason: "BadRequest", message: "no such key" }));
  await assert.rejects(object.ready, /no such key/);
  assert.equal(state, "closed");

  const unknown = client.object("v1/gadgets", "a/b");
  await turn();
  const { id: second } = guest().last("AcquireObject");
  await speak(client, guest(), (w) => say.objectState(w, second, closed, { code: 404, reason: "NotFound", message: "no such resource" }));
  await assert.rejects(unknown.ready, /no such resource/);
  await turn();
  assert.equal(guest().last("ReleaseObject").id, second);
});

test("references are opened again in a new engine", async (t) => {
  t.mock.method(console, "error", () => {});
  const { client, guest, guests, object, id } = await withObject();
  await speak(client, guest(), (w) => (say.changed(w, id, { key: "ns/tls", rv: 7, body: body("a") }), say.objectState(w, id, live)));
  const before = object.current;
  guest().fault = new GuestError("boom", true);
  client.reconnect();
  for (let i = 0; i < 20 && guests.length < 2; i++) await turn();
  await frame();
  await turn();
  assert.equal(guests.length, 2);
  assert.deepEqual([guest().last("AcquireObject").id, object.state, object.current], [id, "reconnecting", before]);
});

test("an unreadable body affects only its object", async () => {
  const { client, guest, object, id } = await withObject();
  await speak(client, guest(), (w) => (say.changed(w, id, { key: "ns/tls", body: "text" }), say.objectState(w, id, live)));
  assert.equal(client.object("v1/secrets", "ns/x").state, "connecting");
  assert.deepEqual([object.state, object.exists, object.current], ["live", true, undefined]);
  assert.match(object.error!.message, /ns\/tls cannot be read/);
  await speak(client, guest(), (w) => say.changed(w, id, { key: "ns/tls", body: body("a") }));
  assert.deepEqual([object.error, object.current?.kind], [undefined, "Secret"]);
});

test("an unreferenced handle is closed with one warning, unless it has listeners", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { client, guest } = await setup();
  let calls = 0;
  const dropHandle = async (key: string, listen: boolean) => {
    const object = client.object("v1/secrets", key, { owner: "page" });
    if (listen) object.subscribe(() => calls++);
    await turn();
    const { id } = guest().last("AcquireObject");
    await speak(client, guest(), (w) => say.changed(w, id, { key, body: body("a") }));
    await object.ready;
    return id;
  };
  const dropped = await dropHandle("ns/dropped", false);
  const second = await dropHandle("ns/second", false);
  const listened = await dropHandle("ns/listened", true);
  for (let i = 0; i < 100 && guest().count("ReleaseObject") < 2; i++) {
    await frame();
    collect();
  }
  await turn();
  assert.deepEqual(guest().commands.filter((h) => h.name === "ReleaseObject").map((h) => h.id).sort(), [dropped, second].sort());
  // Handles that other tests left open may be garbage-collected during this test, and cause
  // warnings, too.
  const warnings = warn.mock.calls.map((call) => String(call.arguments[0])).filter((text) => /dropped|second/.test(text));
  assert.deepEqual(warnings.map((text) => text.replace(/dropped|second/, "…")), [
    'watchglass: the handle of v1/secrets ns/… (owner "page") was garbage-collected while open; close handles, or declare them with "using"',
  ]);
  calls = 0;
  await speak(client, guest(), (w) => say.changed(w, listened, undefined));
  await frame();
  assert.equal(calls, 1);
});
