import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../src/engine.js";
import { split } from "../src/wire/codec.js";
import { clientAt, FakeGuest, fakeEngine, GuestError, say, speak, turn } from "./fake.js";

async function connected() {
  const fake = await fakeEngine();
  const client = await clientAt(fake.engine);
  client.collection("v1/pods");
  await speak(client, fake.guest(), (w) => say.openStream(w, 1));
  const stream = fake.network.dials[0]!;
  stream.events.opened();
  await turn();
  return { ...fake, client, stream };
}

test("streams are opened with the token, and their data reaches the guest", async () => {
  const { guest, client, stream } = await connected();
  assert.equal(stream.url, "wss://test/watch");
  assert.match(Buffer.from(guest().last("StreamOpened").payload).toString("latin1"), /t0ken$/);
  await speak(client, guest(), (w) => say.sendStream(w, 1, new Uint8Array([1, 2, 3])));
  assert.deepEqual(stream.sent, [new Uint8Array([1, 2, 3])]);
  stream.events.closed("connection refused");
  await turn();
  assert.match(Buffer.from(guest().last("StreamClosed").payload).toString("latin1"), /connection refused$/);
});

test("messages that arrive together make one step", async () => {
  const { guest, stream } = await connected();
  const before = guest().steps.length;
  for (let i = 0; i < 10; i++) stream.events.data(new Uint8Array([0x80, 0]));
  await turn();
  assert.deepEqual(guest().steps.slice(before), [10]);
});

test("messages too large to share a step each get one", async () => {
  const { guest, stream } = await connected();
  const before = guest().steps.length;
  for (let i = 0; i < 3; i++) stream.events.data(new Uint8Array(16 << 20));
  await turn();
  assert.deepEqual(guest().steps.slice(before), [1, 1, 1]);
});

test("a message that the guest refuses closes only its stream", async () => {
  const { guest, guests, stream } = await connected();
  guest().fault = new GuestError("Events frame: truncated at byte 3", false);
  stream.events.data(new Uint8Array([0x17]));
  await turn();
  assert.equal(stream.closed, "Events frame: truncated at byte 3");
  assert.equal(guest().last("StreamClosed").id, 1);
  assert.equal(guests.length, 1);
});

test("a timer that fires early does not lose the guest's request to wake", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { client, guest } = await connected();
  const wakeAt = Date.now() + 3_600_000;
  await speak(client, guest(), (w) => say.wakeAt(w, wakeAt));
  t.mock.timers.tick(3_600_000); // the timer fires, but Date does not advance
  assert.ok(guest().now < wakeAt);
  const now = t.mock.method(Date, "now", () => wakeAt);
  t.mock.timers.tick(3_600_000);
  assert.ok(guest().now >= wakeAt);
  now.mock.restore();
});

test("a failing token function closes the stream", async () => {
  const { engine, guest, network } = await fakeEngine();
  const { Client } = await import("../src/client.js");
  const client = await Client.attach((events) => engine.attach(events), () => Promise.reject(new Error("signed out")));
  await speak(client, guest(), (w) => say.openStream(w, 1));
  assert.equal(network.dials.length, 0);
  assert.match(Buffer.from(guest().last("StreamClosed").payload).toString(), /signed out/);
});

test("members have separate IDs, and leave no resources behind", async () => {
  const { engine, guest } = await fakeEngine();
  const [a, b] = [await clientAt(engine), await clientAt(engine)];
  const [podsA, podsB] = [a.collection("v1/pods"), b.collection("v1/pods")];
  await turn();
  const [first, second] = guest().commands.map((h) => h.id);
  assert.notEqual(first! >>> 16, second! >>> 16);
  await speak(a, guest(), (w) => (say.state(w, first!, 2, { rv: 5 }), say.state(w, second!, 2, { rv: 6 })));
  assert.equal(podsA.progress.resourceVersion, "5");
  assert.equal(podsB.progress.resourceVersion, "6");
  a.close();
  assert.equal(guest().last("CloseCollection").id, first);
  assert.equal(podsB.status.state, "live");
  b.close();
  assert.equal(engine.members, 0);
});

test("a member that sends invalid frames is removed, and the others stay", async () => {
  const { engine, guest, guests } = await fakeEngine();
  const failures: string[] = [];
  const attached = engine.attach({ frames() {}, restarted() {}, failed: (m) => failures.push(m), token: async () => "" });
  const client = await clientAt(engine);
  const pods = client.collection("v1/pods");
  await turn();
  attached.send(new Uint8Array([0x41]));
  assert.equal(failures.length, 1);
  assert.match(failures[0]!, /truncated/);
  assert.equal(engine.members, 1);
  assert.equal(guests.length, 1);
  await speak(client, guest(), (w) => say.state(w, guest().last("OpenCollection").id, 2));
  assert.equal(pods.status.state, "live");
});

test("deliveries are split by member without being parsed", async () => {
  const { engine, guest } = await fakeEngine();
  const received: number[][] = [];
  const attached = engine.attach({ frames: (f) => received.push([...split(f)].map((x) => x.type)), restarted() {}, failed() {}, token: async () => "" });
  const id = attached.member * 0x10000 + 1;
  say.state(guest().out, id, 2);
  say.watchClosed(guest().out, 0xffff_0001 === id ? 1 : 0xffff_0001); // an ID of a member that does not exist
  say.schema(guest().out, id);
  attached.send(new Uint8Array([0x53, 0]));
  assert.deepEqual(received, [[0x64, 0x65]]);
});

test("a member that does not return a token is skipped", async (t) => {
  const dialled: string[] = [];
  const guest = new FakeGuest();
  const engine = await Engine.start({
    url: "wss://test",
    dial: (_url, _events, token) => (dialled.push(token), { send() {}, close() {} }),
    guest: async () => guest,
    tokenMillis: 5,
  });
  t.after(() => engine.close());
  const events = { frames() {}, restarted() {}, failed() {} };
  let give!: (token: string) => void;
  const answers = [Promise.resolve("first"), new Promise<string>(() => {})];
  const attached = engine.attach({ ...events, token: () => answers.shift() ?? Promise.reject(new Error("signed out")) });
  engine.attach({ ...events, token: () => new Promise((resolve) => (give = resolve)) }); // the user has not completed a sign-in dialog yet

  const connect = async (stream: number): Promise<void> => {
    const before = dialled.length;
    guest.out.frame(0x60, () => guest.out.uvarint(stream));
    engine.tick();
    while (dialled.length === before) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  await connect(1);
  assert.deepEqual(dialled, ["first"]);
  await connect(2);
  assert.deepEqual(dialled, ["first", "first"], "the last token is used while no member responds");
  give("late");
  await new Promise((resolve) => setImmediate(resolve));
  await connect(3);
  assert.equal(dialled[2], "late", "a late token is used for the next connection");
  attached.leave();
});

test("the reason why no token can be obtained is reported", async (t) => {
  for (const [token, reason] of [
    [() => new Promise<string>(() => {}), "a page did not return a token within 0.005 s"],
    [() => Promise.reject(new Error("signed out")), "signed out"],
  ] as const) {
    const guest = new FakeGuest();
    const engine = await Engine.start({ url: "wss://test", dial: () => assert.fail("dialled"), guest: async () => guest, tokenMillis: 5 });
    t.after(() => engine.close());
    engine.attach({ frames() {}, restarted() {}, failed() {}, token });
    guest.out.frame(0x60, () => guest.out.uvarint(1));
    engine.tick();
    while (guest.count("StreamClosed") === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.match(new TextDecoder().decode(guest.last("StreamClosed").payload), new RegExp(`no token to connect with: ${reason}$`));
  }
});

test("after the machine slept, the connection is renewed without waiting for the silent period", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let wall = Date.now();
  t.mock.method(Date, "now", () => wall);
  const { client, guest, stream } = await connected();
  await speak(client, guest(), (w) => say.wakeAt(w, wall + 30_000));
  const pass = async (ran: number, slept: number): Promise<void> => {
    wall += ran + slept;
    t.mock.timers.tick(ran);
    await turn();
  };
  await pass(5000, 1000); // a delay of a second is attributed to a busy machine, not to sleep
  assert.equal(stream.closed, undefined);
  const reconnects = guest().count("Reconnect");
  await pass(5000, 12_000); // shorter than the silent period
  assert.equal(stream.closed, "the machine slept, so the connection is renewed");
  assert.deepEqual(guest().commands.slice(-2).map(({ name }) => name), ["StreamClosed", "Reconnect"]);
  await pass(5000, 0);
  assert.equal(guest().count("Reconnect"), reconnects + 1);
});

test("the engine pauses while all members are hidden, and resumes when one is shown", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { engine, guest, network, client, stream } = await connected();
  const other = await clientAt(engine);
  client.hide(true);
  t.mock.timers.tick(120_000);
  assert.equal(stream.closed, undefined, "another member is visible");
  other.hide(true);
  t.mock.timers.tick(59_999);
  other.hide(false);
  other.hide(true);
  t.mock.timers.tick(59_999);
  assert.equal(stream.closed, undefined, "the timer restarts");
  t.mock.timers.tick(1);
  await turn();
  assert.equal(stream.closed, "paused while all pages are hidden");
  assert.equal(guest().last("StreamClosed").id, 1);
  await speak(client, guest(), (w) => say.openStream(w, 2));
  assert.equal(network.dials.length, 1, "no connection is opened during the pause");
  assert.equal(guest().last("StreamClosed").id, 2);
  const reconnects = guest().count("Reconnect"); // "speak" sends Reconnect commands, too
  client.hide(false);
  assert.equal(guest().count("Reconnect"), reconnects + 1);
  await speak(client, guest(), (w) => say.openStream(w, 3));
  assert.equal(network.dials.length, 2);
  client.hide(true);
  t.mock.timers.tick(60_000);
  await turn();
  const before = guest().count("Reconnect");
  await clientAt(engine); // a newly opened page is visible
  assert.equal(guest().count("Reconnect"), before + 1);
});
