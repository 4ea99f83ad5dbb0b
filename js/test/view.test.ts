// Tests of views, for example after a rejected query.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Reader } from "../src/wire/codec.js";
import { fakePods, GuestError, say, turn } from "./fake.js";

const live = 2;
const forbidden = 5;
const unauthorized = { code: 401, reason: "Unauthorized", message: "the token has expired" };
const unknownColumn = { code: 400, reason: "BadRequest", message: 'unknown column "Nope"' };
const web = { key: "default/web", rv: 1, cells: ["Running"] };

async function setup() {
  const fake = await fakePods();
  return { ...fake, lastView: () => fake.last("OpenView") };
}

const notified = (subscribe: (listener: () => void) => () => void): Promise<void> => new Promise((resolve) => void subscribe(resolve));

test("a view that was refused with its collection recovers with it", async () => {
  const { guest, pods, id, respond, lastView } = await setup();
  const view = pods.view({ limit: 5 });
  assert.deepEqual([view.state, view.error], ["loading", undefined]);
  await turn();
  const refused = view.ready;
  const change = notified(view.subscribe);
  await respond((w) => (say.state(w, id, forbidden, { status: unauthorized }), say.rejected(w, 2, lastView(), unauthorized)));
  await assert.rejects(refused, { code: 401 });
  await change;
  assert.deepEqual([view.state, view.error?.message], ["error", "the token has expired"]);
  assert.equal(guest().count("OpenView"), 1);

  await respond((w) => say.state(w, id, live));
  assert.equal(guest().count("OpenView"), 2);
  assert.equal(view.state, "loading");
  await respond((w) => say.rows(w, lastView(), [web]));
  await view.ready;
  assert.deepEqual([view.state, view.error, view.snapshot.total], ["ready", undefined, 1]);
});

test("a query of a refused view is sent, and its own error is reported", async () => {
  const { guest, pods, id, respond, lastView } = await setup();
  await respond((w) => (say.schema(w, id), say.state(w, id, live)));
  const view = pods.view({ sort: "Nope" });
  await turn();
  await respond((w) => say.rejected(w, 2, lastView(), unknownColumn));
  await assert.rejects(view.ready, /unknown column "Nope"/);
  assert.equal(view.state, "error");

  // The view is not opened again, because the same invalid query would be rejected again.
  await respond((w) => say.state(w, id, 3));
  await respond((w) => say.state(w, id, live));
  assert.equal(guest().count("OpenView"), 1);

  const other = assert.rejects(view.query({ sort: "Neither" }), /Neither/);
  await turn();
  await respond((w) => say.rejected(w, 2, lastView(), { ...unknownColumn, message: 'unknown column "Neither"' }));
  await other;
  const good = view.query({ sort: "name" });
  await turn();
  await respond((w) => say.rows(w, lastView(), [web]));
  await good;
  assert.deepEqual([view.state, view.error, view.snapshot.rows.length], ["ready", undefined, 1]);
});

test("a refused query keeps the previous rows, and reports the reason", async () => {
  const { pods, id, respond, lastView } = await setup();
  await respond((w) => (say.schema(w, id), say.state(w, id, live)));
  const view = pods.view();
  await turn();
  await respond((w) => say.rows(w, lastView(), [web]));
  const refused = assert.rejects(view.query({ sort: "Nope" }), /Nope/);
  assert.equal(view.state, "loading");
  await turn();
  await respond((w) => say.rejected(w, 2, lastView(), unknownColumn));
  await refused;
  assert.deepEqual([view.state, view.error?.code, view.snapshot.rows.length], ["ready", 400, 1]);
});

test("a patch edits the previous rows", async () => {
  const { pods, id, respond, lastView } = await setup();
  await respond((w) => (say.schema(w, id), say.state(w, id, live)));
  const view = pods.view();
  await turn();
  const row = (name: string, rv = 1) => ({ key: `default/${name}`, rv, cells: ["Running"] });
  const shown = (): string => view.snapshot.rows.map((r) => `${r.key.slice(8)}${r.resourceVersion}`).join(" ");
  await respond((w) => say.rows(w, lastView(), ["a", "b", "c", "d", "e"].map((name) => row(name))));
  for (const [edits, expected] of [
    [[[1, 1, [row("b", 2)]], [1, 1, [row("d", 2)]]], "a1 b2 c1 d2 e1"],
    [[[0, 1, []], [2, 0, [row("x")]]], "b2 c1 x1 d2 e1"],
    [[[4, 1, [row("y"), row("z")]]], "b2 c1 x1 d2 y1 z1"],
    [[], "b2 c1 x1 d2 y1 z1"],
    [[[0, 6, []]], ""],
    [[[0, 0, [row("a", 3)]]], "a3"],
  ] as [Parameters<typeof say.patch>[2], string][]) {
    const before = view.snapshot;
    await respond((w) => say.patch(w, lastView(), edits));
    assert.equal(shown(), expected);
    assert.ok(Object.isFrozen(view.snapshot.rows));
    for (const r of view.snapshot.rows) {
      const old = before.rows.find((o) => o.key === r.key && o.resourceVersion === r.resourceVersion);
      if (old) assert.equal(r, old, "an unchanged row is the same object");
    }
  }
});

test("each drawn frame requests a patch", async (t) => {
  const { guest, pods, id, respond, lastView } = await setup();
  await new Promise((resolve) => setTimeout(resolve)); // lets callbacks of earlier tests run, which were scheduled without animation frames
  const frames: (() => void)[] = [];
  const draw = (): void => frames.splice(0).forEach((run) => run());
  Object.assign(globalThis, { requestAnimationFrame: (run: () => void) => frames.push(run), cancelAnimationFrame: () => {} });
  t.after(() => {
    draw();
    Object.assign(globalThis, { requestAnimationFrame: undefined, cancelAnimationFrame: undefined });
  });
  await respond((w) => (say.schema(w, id), say.state(w, id, live)));
  const view = pods.view();
  await turn();
  draw();
  await respond((w) => say.rows(w, lastView(), [web]));
  assert.equal(view.snapshot.rows.length, 1);
  await turn();
  assert.equal(guest().count("GrantView"), 0, "no frame was drawn");
  draw();
  await turn();
  assert.equal(guest().count("GrantView"), 1);
  assert.equal(guest().last("GrantView").id, lastView());

  await respond((w) => say.patch(w, lastView(), [[0, 1, []]]));
  view.close();
  draw();
  await turn();
  assert.equal(guest().count("GrantView"), 1, "a closed view gets no credit");
});

test("a view ends with its collection, and its listeners are called", async () => {
  const { guest, pods, id, respond } = await setup();
  await respond((w) => (say.schema(w, id), say.state(w, id, live)));
  const view = pods.view();
  await turn();
  const end = notified(view.subscribe);
  pods.close();
  await end;
  assert.deepEqual([view.state, view.error?.code], ["closed", 503]);
  await assert.rejects(view.query({}), { code: 503 });
  assert.equal(guest().count("OpenView"), 1);
});

test("a new engine finds the anchor of a window again, or else its last offset", async (t) => {
  t.mock.method(console, "error", () => {});
  const { guest, pods, id, respond, lastView } = await setup();
  await respond((w) => (say.schema(w, id), say.state(w, id, live)));
  const views = [pods.view({ limit: 5, offset: 3, anchor: { key: "default/web", before: 2 } }), pods.view({ limit: 5, offset: 3 })];
  await turn();
  await respond((w) => [lastView() - 1, lastView()].forEach((view) => say.rows(w, view, [web], { offset: 9 })));
  assert.deepEqual(views.map((view) => view.snapshot.offset), [9, 9]);
  guest().fault = new GuestError("index out of range", true);
  await respond((w) => say.state(w, id, live));
  await new Promise((resolve) => setTimeout(resolve)); // the engine starts the new guest with a timer
  await turn();
  const windows = guest().commands.filter(({ name }) => name === "OpenView").map(({ payload }) => {
    const r = new Reader(payload, "OpenView");
    r.uint32();
    r.uint32();
    r.list(1, () => r.text());
    for (let i = 0; i < 5; i++) r.text();
    r.bool();
    r.text();
    return [r.uint32(), r.uint32(), r.text(), r.uint32()];
  });
  assert.deepEqual(windows, [[9, 5, "default/web", 2], [3, 5, "", 0]]);
});
