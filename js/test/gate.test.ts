// When an engine opens the collections of absent resources again, and what it holds
// meanwhile.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Gate } from "../src/gate.js";
import { Writer } from "../src/wire/codec.js";
import { clientAt, fakeEngine, say, turn, type ReceivedCommand } from "./fake.js";

const [connecting, live, forbidden, closed] = [0, 2, 5, 6];
const absent = { code: 404, reason: "NotFound", message: "there are no gadgets" };
const denied = { code: 403, reason: "Forbidden", message: "gadgets are forbidden" };
const start = 1_000_000;

async function setup(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: start });
  const fake = await fakeEngine({ gate: new Gate(), pauseMillis: 0 });
  const client = await clientAt(fake.engine);
  const { guest, engine } = fake;
  /** Makes the engine read its guest's output. */
  const output = async (write: (w: Writer) => void): Promise<void> => {
    write(guest().out);
    engine.tick();
    await turn();
  };
  const open = async (resource = "example.com/v1/gadgets", at = client, options = {}) => {
    const collection = at.collection(resource, options);
    await turn();
    return { collection, id: guest().last("OpenCollection").id };
  };
  const pass = async (millis: number): Promise<void> => {
    t.mock.timers.tick(millis);
    await turn();
  };
  const opens = (): number => guest().count("OpenCollection");
  return { ...fake, client, output, open, pass, opens };
}

test("a collection of an absent resource is opened again after 5 s, and then less and less often", async (t) => {
  const { output, open, pass, opens, guest } = await setup(t);
  const { collection, id } = await open();
  for (const [n, seconds] of [5, 10, 20, 30, 30].entries()) {
    await output((w) => say.state(w, id, closed, { rv: 0, status: absent }));
    const { state, error, nextAttempt } = collection.status;
    assert.deepEqual([state, error, opens()], ["connecting", absent, n + 1]);
    const wait = nextAttempt! - Date.now();
    assert.ok(wait >= 1000 * seconds && wait <= 1200 * seconds + 1, `${wait} ms before attempt ${n + 1}`);
    await output((w) => say.state(w, id, closed, { rv: 0, status: absent })); // reported again
    await pass(wait - 1);
    assert.equal(opens(), n + 1);
    await pass(1);
    assert.deepEqual(guest().commands.slice(-2).map((command) => [command.name, command.id]), [["CloseCollection", id], ["OpenCollection", id]]);
    await output((w) => say.state(w, id, connecting, { rv: 0 }));
    assert.deepEqual(collection.status.error, absent, "the outcome of the attempt is open");
  }
  await output((w) => say.state(w, id, live, { rv: 7 }));
  assert.deepEqual(collection.status, { state: "live" });
  await pass(100_000);
  assert.equal(opens(), 6);
});

test("an attempt does not restore a state again", async (t) => {
  const { output, open, pass, guest } = await setup(t);
  const { id } = await open("v1/gadgets", undefined, { restore: [] });
  const restore = ({ payload }: ReceivedCommand): number => payload.at(-2)!; // the columns follow
  assert.equal(restore(guest().last("OpenCollection")), 1);
  const { payload } = guest().last("OpenCollection");
  await output((w) => say.state(w, id, closed, { rv: 0, status: absent }));
  await pass(6_001);
  assert.equal(restore(guest().last("OpenCollection")), 0);
  assert.deepEqual(guest().last("OpenCollection").payload.slice(0, -2), payload.slice(0, -2));
});

test("reconnect makes the attempt immediately", async (t) => {
  const { output, open, pass, opens, client } = await setup(t);
  const { id } = await open();
  await output((w) => say.state(w, id, closed, { rv: 0, status: absent }));
  client.reconnect();
  await turn();
  await pass(0);
  assert.equal(opens(), 2);
  client.reconnect();
  await turn();
  await pass(0);
  assert.equal(opens(), 2, "the attempt is under way");
});

test("collections whose attempts are due together are opened in one step", async (t) => {
  const { output, open, pass, guest, engine } = await setup(t);
  const { id: first } = await open();
  const { id: second } = await open("example.com/v1/gadgets", await clientAt(engine));
  t.mock.method(Math, "random", () => 0);
  await output((w) => say.state(w, first, closed, { rv: 0, status: absent }));
  await pass(900);
  await output((w) => say.state(w, second, closed, { rv: 0, status: absent }));
  await pass(4_100);
  assert.equal(guest().steps.at(-1), 4);
  assert.deepEqual(guest().commands.slice(-4).map(({ id }) => id), [first, first, second, second]);
});

test("no attempt is made for a collection that was closed, or whose page has left", async (t) => {
  const { output, open, pass, opens, client, engine } = await setup(t);
  const other = await clientAt(engine);
  const { collection, id } = await open();
  const { id: second } = await open("v1/absents", other);
  await output((w) => {
    for (const each of [id, second]) say.state(w, each, closed, { rv: 0, status: absent });
  });
  collection.close();
  other.close();
  await turn();
  await pass(100_000);
  assert.equal(opens(), 2);
  const { id: third } = await open();
  await output((w) => say.state(w, third, closed, { rv: 0, status: absent }));
  engine.close();
  await pass(100_000);
  assert.equal(opens(), 3);
  client.close();
});

test("no attempt is made while all pages are hidden", async (t) => {
  const { output, open, pass, opens, client } = await setup(t);
  const { id } = await open();
  await output((w) => say.state(w, id, closed, { rv: 0, status: absent }));
  client.hide(true);
  await pass(100_000);
  assert.equal(opens(), 1);
  client.hide(false);
  await pass(0);
  assert.equal(opens(), 2);
});

test("a replaced engine opens the collections itself", async (t) => {
  t.mock.method(console, "error", () => {});
  const { output, open, pass, guests } = await setup(t);
  const { id } = await open();
  await output((w) => say.state(w, id, closed, { rv: 0, status: absent }));
  guests[0]!.step = () => {
    throw new Error("out of memory");
  };
  await pass(6_001); // the attempt breaks the guest
  await pass(0);
  assert.equal(guests.length, 2);
  assert.equal(guests[1]!.count("OpenCollection"), 1);
  await pass(100_000);
  assert.equal(guests[1]!.count("OpenCollection"), 1);
});

test("another error than a 404 closes the collection", async (t) => {
  const { output, open } = await setup(t);
  const { collection, id } = await open();
  await output((w) => say.state(w, id, closed, { rv: 0, status: { code: 413, reason: "TooLarge", message: "too large" } }));
  assert.deepEqual([collection.status.state, collection.status.error?.code], ["closed", 413]);
});

test("a resource that is gone ends the views and watches, which the guest does not", async (t) => {
  const { output, open, pass, opens, guest } = await setup(t);
  const { collection, id } = await open();
  await output((w) => (say.schema(w, id), say.state(w, id, live, { rv: 7, objects: 1 })));
  const view = collection.view();
  const watch = collection.watch();
  const event = assert.rejects(watch[Symbol.asyncIterator]().next(), { code: 404, status: { ...absent, cause: "HistoryLost" } });
  const [refused, ended] = [collection.view(), collection.watch()[Symbol.asyncIterator]().next()];
  await turn();
  const [v, w2] = [guest().last("OpenView").id, guest().last("OpenWatch").id];
  await output((w) => {
    say.rows(w, v - 2, [{ key: "default/g" }]); // the IDs are consecutive
    say.rejected(w, 2, v, { code: 400, reason: "BadRequest", message: "no such column" });
    say.watchClosed(w, w2, "Timeout");
  });
  await assert.rejects(refused.ready, { code: 400 });
  assert.equal((await ended).done, true);
  await pass(5_000);
  await output((w) => say.state(w, id, closed, { rv: 7, objects: 1, status: absent }));
  await event;
  assert.deepEqual([watch.end, view.state, view.error, view.snapshot.rows.length], ["HistoryLost", "error", absent, 1]);
  assert.deepEqual([collection.status.state, collection.progress.objects], ["connecting", 0]);
  // The guest still has the objects, and would serve them.
  const list = assert.rejects(collection.list(), { code: 404 });
  const later = collection.view();
  later.close();
  await turn();
  assert.deepEqual([guest().count("List"), guest().count("OpenView")], [0, 2]);
  await pass(0);
  assert.equal(opens(), 2);
  await output((w) => say.state(w, id, closed, { rv: 0, status: absent }));
  await pass(0);
  assert.deepEqual(guest().commands.slice(-3).map(({ name }) => name), ["List", "OpenView", "CloseView"]);
  await output((w) => say.error(w, guest().last("List").id, absent));
  await list;
  assert.equal(opens(), 2);
});

test("a resource that comes and goes is opened at most once in 5 s", async (t) => {
  const { output, open, pass, opens } = await setup(t);
  const { id } = await open();
  for (let i = 1; i < 5; i++) {
    await output((w) => say.state(w, id, live, { rv: 7 }));
    await output((w) => say.state(w, id, closed, { rv: 7, status: absent }));
    await pass(4_999);
    assert.equal(opens(), i);
    await pass(1);
    assert.equal(opens(), i + 1);
  }
});

test("after reconnect, requests to a forbidden collection wait for the new verdict", async (t) => {
  const { output, open, pass, client, guest } = await setup(t);
  const { collection, id } = await open();
  const { collection: other, id: otherId } = await open("v1/pods");
  await output((w) => (say.state(w, id, forbidden, { next: start + 30_000, status: denied }), say.state(w, otherId, live)));
  const first = assert.rejects(collection.list(), { code: 403 });
  await turn();
  await output((w) => say.error(w, guest().last("List").id, denied)); // no attempt is under way
  await first;

  client.reconnect();
  const list = collection.list();
  const get = collection.get("default/g");
  const view = collection.view();
  view.move(10, 10);
  const watch = collection.watch()[Symbol.asyncIterator]();
  const event = watch.next();
  void other.get("default/p");
  await turn();
  await output((w) => say.state(w, id, forbidden, { status: denied })); // the attempt is under way
  assert.deepEqual([guest().count("List"), guest().count("Get"), guest().count("OpenView"), guest().count("OpenWatch"), view.state], [1, 1, 0, 0, "loading"]);
  await output((w) => say.state(w, id, live, { rv: 7 }));
  await pass(0);
  assert.deepEqual(guest().commands.slice(-5).map(({ name }) => name), ["List", "Get", "OpenView", "MoveView", "OpenWatch"]);
  await output((w) => {
    say.list(w, guest().last("List").id, [], { rv: 7 });
    say.object(w, guest().last("Get").id, { key: "default/g" });
    say.rows(w, guest().last("OpenView").id, []);
    say.bookmark(w, guest().last("OpenWatch").id, 7);
  });
  assert.equal((await list).resourceVersion, "7");
  await Promise.all([get, view.ready, event]);
});

test("requests to a collection that stays forbidden get the new error", async (t) => {
  const { output, open, pass, client, guest } = await setup(t);
  const { collection, id } = await open();
  await output((w) => say.state(w, id, forbidden, { next: start + 30_000, status: denied }));
  client.reconnect();
  const list = assert.rejects(collection.list(), { code: 403, message: "still forbidden" });
  const get = assert.rejects(collection.get("default/g"), { code: 403 });
  await turn();
  await output((w) => say.state(w, id, forbidden, { status: denied }));
  const again = { ...denied, message: "still forbidden" };
  await output((w) => say.state(w, id, forbidden, { next: start + 30_000, status: again }));
  await pass(0);
  await output((w) => {
    say.error(w, guest().last("List").id, again);
    say.error(w, guest().last("Get").id, again);
  });
  await Promise.all([list, get]);
});

test("held requests precede the end of their collection", async (t) => {
  const { output, open, client, guest } = await setup(t);
  const { collection, id } = await open();
  await output((w) => say.state(w, id, forbidden, { next: start + 30_000, status: denied }));
  client.reconnect();
  void collection.get("default/g").catch(() => {});
  await turn();
  assert.equal(guest().count("Get"), 0);
  collection.close();
  await turn();
  assert.deepEqual(guest().commands.slice(-2).map(({ name }) => name), ["Get", "CloseCollection"]);
});
