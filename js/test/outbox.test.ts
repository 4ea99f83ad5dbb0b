import assert from "node:assert/strict";
import { test } from "node:test";
import { Outbox } from "../src/outbox.js";
import { split, Writer } from "../src/wire/codec.js";
import { readDelivery } from "../src/wire/outputs.js";
import { say } from "./fake.js";

const [syncing, live, forbidden] = [1, 2, 5];
/** IDs of a member, which take three bytes. */
const [first, second] = [7 * 0x10000 + 1, 7 * 0x10000 + 2];

/** Returns an outbox, the messages that it has sent, and a function that adds frames to it. */
function setup() {
  const sent: string[][] = [];
  const outbox = new Outbox((frames) => sent.push([...split(frames)].map(describe)));
  const add = (write: (w: Writer) => void): void => {
    const w = new Writer();
    write(w);
    outbox.add(w.take());
  };
  return { outbox, sent, add };
}

/** Describes a frame, such as "CollectionState 1 live 7". */
function describe(frame: Parameters<typeof readDelivery>[0]): string {
  const output = readDelivery(frame)!;
  const version = "resourceVersion" in output ? [output.resourceVersion] : [];
  return [output.type, output.id % 0x10000, ..."state" in output ? [output.state] : [], ...version].join(" ");
}

/** Adds as many messages as an outbox sends without an acknowledgment. */
function fill({ sent, add }: ReturnType<typeof setup>): void {
  for (let rv = 1; rv <= 16; rv++) add((w) => say.state(w, first, live, { rv }));
  assert.equal(sent.length, 16);
  assert.deepEqual(sent[15], ["CollectionState 1 live 16"]);
  sent.length = 0;
}

test("an outbox holds frames until the page acknowledges messages, and sends them together", () => {
  const made = setup();
  const { outbox, sent, add } = made;
  fill(made);
  for (const rv of [1, 2, 3]) add((w) => say.bookmark(w, first, rv));
  assert.deepEqual(sent, []);
  outbox.acknowledged();
  assert.deepEqual(sent, [Array(3).fill("WatchEvents 1")]);
  for (const rv of [17, 18]) add((w) => say.state(w, first, live, { rv }));
  assert.deepEqual(sent.slice(1), [["CollectionState 1 live 17"], ["CollectionState 1 live 18"]], "the page has acknowledged eight messages");
  for (let rv = 19; rv < 30; rv++) add((w) => say.state(w, first, live, { rv }));
  assert.deepEqual(sent.at(-1), ["CollectionState 1 live 23"]);
  outbox.flush();
  assert.deepEqual(sent.at(-1), ["CollectionState 1 live 29"]);
  const messages = sent.length;
  outbox.flush();
  outbox.acknowledged();
  assert.equal(sent.length, messages, "an empty outbox sends no message");
});

test("held states are replaced, and other frames are not", () => {
  const made = setup();
  const { outbox, sent, add } = made;
  fill(made);
  for (let rv = 1; rv <= 1000; rv++) {
    add((w) => {
      say.changed(w, first, { key: "default/a", rv }, rv);
      say.changed(w, second, undefined, rv);
      say.objectState(w, first, live);
      say.state(w, first, live, { rv });
      say.state(w, second, live, { rv });
    });
    if (rv === 500) add((w) => say.patch(w, first, [], { rv }));
    if (rv === 600) add((w) => say.bookmark(w, first, rv));
  }
  outbox.acknowledged();
  assert.deepEqual(sent, [
    ["ViewPatch 1 500", "WatchEvents 1", "ObjectChanged 1 1000", "ObjectChanged 2 1000", "ObjectState 1 live", "CollectionState 1 live 1000", "CollectionState 2 live 1000"],
  ]);
});

test("a change of the state is not dropped", () => {
  const made = setup();
  const { outbox, sent, add } = made;
  fill(made);
  for (let rv = 1; rv <= 100; rv++) {
    for (const state of [forbidden, syncing, live]) add((w) => say.state(w, first, state, { rv }));
  }
  outbox.acknowledged();
  assert.deepEqual(sent, [["CollectionState 1 forbidden 100", "CollectionState 1 syncing 100", "CollectionState 1 live 100"]]);
});
