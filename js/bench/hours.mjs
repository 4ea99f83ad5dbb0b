// node hours.js MODULE HOURS measures the memory of the module over hours of a virtual clock. A view
// of 3,000 pods with bodies of 2 kB is open. The pods change 300 times per second. Of 15 changes, one
// deletes a pod and one adds a pod with another name. The script prints a line for each half hour. It
// is not part of "make bench".
import { readFileSync } from "node:fs";
import { compile } from "../src/guest.ts";
import { Writer } from "../src/wire/codec.ts";
import { writeEnvelope, writeSchema } from "../test/fake.ts";
import { Ours } from "./ours.mjs";

const [module, hours] = process.argv.slice(2);
const pods = 3_000;
const perSecond = 300;
const perMessage = 30;
const [subscription, labelSet] = [1, 1];
const [added, modified, deleted] = [1, 2, 3];
const padding = "x".repeat(1_700);

const w = new Writer();
const names = Array.from({ length: pods }, (_, i) => `pod-${i}`);
let version = 1;

function content(name) {
  w.byte(0);
  w.uvarint(labelSet);
  const phase = `Phase-${version % 50}`;
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", uid: `uid-${name}` }, spec: { padding, random: Math.random() }, status: { phase } };
  writeEnvelope(w, { key: `default/${name}`, fields: [name, "default"], cells: [phase], body });
}

function event(type, name) {
  w.frame(0x17, () => {
    for (const n of [subscription, ++version, 1]) w.uvarint(n);
    w.byte(type);
    w.uvarint(0);
    if (type === deleted) w.text(`default/${name}`);
    else content(name);
  });
}

function first() {
  w.frame(0x10, () => {
    w.uvarint(2);
    w.text("hours");
    w.uvarint(10_000);
  });
  w.frame(0x11, () => {
    w.uvarint(subscription);
    writeSchema(w);
    w.uvarint(0);
    w.text("hours");
    w.uvarint(0);
  });
  w.frame(0x13, () => {
    for (const n of [subscription, labelSet, 1]) w.uvarint(n);
    w.text("app");
    w.text("web");
  });
  w.frame(0x14, () => {
    for (const n of [subscription, version, pods]) w.uvarint(n);
    w.bool(false);
  });
  w.frame(0x15, () => {
    w.uvarint(subscription);
    w.uvarint(pods);
    for (const name of names.toSorted()) {
      w.uvarint(1);
      content(name);
    }
  });
  w.frame(0x16, () => {
    w.uvarint(subscription);
    w.uvarint(version);
  });
}

const ours = await Ours.open(await compile(readFileSync(module)));
first();
ours.receive(w.take());
ours.attach({ sort: "-name", facets: ["Phase"] });
let fresh = pods;
for (let change = 0; change < hours * 3600 * perSecond; change += perMessage) {
  for (let i = 0; i < perMessage; i += 2) {
    const at = Math.floor(Math.random() * pods);
    if (i % 20 === 0) {
      event(deleted, names[at]);
      event(added, (names[at] = `pod-${fresh++}`));
    } else {
      event(modified, names[at]);
      event(modified, names[(at + 1) % pods]);
    }
  }
  w.frame(0x18, () => {
    w.uvarint(subscription);
    w.uvarint(version);
  });
  ours.clock += (1000 * perMessage) / perSecond;
  ours.receive(w.take());
  ours.calls.length = 0;
  const minutes = (change + perMessage) / perSecond / 60;
  if (minutes % 30 === 0) console.log(`${minutes / 60} h: ${(ours.bytes / 2 ** 20).toFixed(1)} MiB, ${ours.live ? "live" : "not live"}, ${ours.version - 1} changes`);
}
