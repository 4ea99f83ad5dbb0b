import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { WatchglassError } from "../src/errors.js";
import { fingerprint, frameBytes, Reader, readerFrames, split, Writer } from "../src/wire/codec.js";
import { commandTypes, writeCommand, type Command } from "../src/wire/driver-commands.js";
import { Item } from "../src/wire/item.js";
import { outputParsers, readOutput, recipient } from "../src/wire/driver-outputs.js";
import { columnKinds, watchEnds } from "../src/wire/outputs.js";
import { testdata } from "./paths.js";

interface Golden {
  frame: string;
  hex: string;
  value: any;
}

const goldens = readdirSync(testdata("wire")).map((file): [string, Golden] => [
  file,
  JSON.parse(readFileSync(testdata("wire", file), "utf8")) as Golden,
]);

/** Properties with 64-bit numbers, which golden files write as decimal strings. */
const wide = new Set(["room", "bytes", "seed", "maxBytes", "credit", "lastProgressMillis", "nextAttemptMillis", "objects", "loaded", "total", "bodies", "remaining", "millis", "rows", "value", "otherValues", "otherRows"]);

function camel(name: string): string {
  return name === name.toUpperCase() ? name.toLowerCase() : name[0]!.toLowerCase() + name.slice(1);
}

/** Converts the field names of a golden value to JavaScript's convention. */
function named(value: any): any {
  if (Array.isArray(value)) return value.map(named);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [camel(k), named(v)]));
}

for (const [file, golden] of goldens) {
  const type = Number.parseInt(golden.hex.slice(0, 2), 16);
  if (range(type) === "command") test(`encodes ${file}`, () => encodes(golden));
  else if (range(type) === "output") test(`decodes ${file}`, () => decodes(golden));
}

/**
 * Returns the direction of a frame type, or undefined if it is neither a command nor an output. The
 * highest bit, which marks optional frames, is ignored.
 */
function range(type: number): "command" | "output" | undefined {
  const number = type & 0x7f;
  return number >= 0x60 ? "output" : number >= 0x40 ? "command" : undefined;
}

function encodes(golden: Golden): void {
  const value = named(golden.value);
  for (const k of Object.keys(value)) if (wide.has(k) && typeof value[k] === "string") value[k] = BigInt(value[k]);
  for (const k of ["data", "saved"]) if (typeof value[k] === "string") value[k] = Buffer.from(value[k], "hex");
  for (const column of value.columns ?? []) column.kind = columnKinds[column.kind];
  // Golden files sort fields by name.
  value.facets &&= value.facets.map(({ by, then, limit, width, rowsOnly, aggregates }: any) => ({ by, then, limit, width: Number(width), rowsOnly, aggregates }));
  const w = new Writer();
  writeCommand(w, { type: golden.frame, ...value } as Command);
  assert.equal(Buffer.from(w.take()).toString("hex"), golden.hex);
}

function decodes(golden: Golden): void {
  const bytes = new Uint8Array(Buffer.from(golden.hex, "hex"));
  const [frame, ...more] = split(bytes);
  assert.equal(more.length, 0);
  const output = readOutput(frame!)!;
  const { type, ...members } = output;
  assert.equal(type, golden.frame);
  // In golden files, the name of an output's ID depends on the kind of the recipient, such as
  // "watch" or "view".
  const { collection, watch, view, request, handle, ...others } = expected(golden.value);
  const id = collection ?? watch ?? view ?? request ?? handle;
  assert.deepEqual(comparable(members), id === undefined ? others : { id, ...others });
  assert.equal(recipient(frame!), id ?? golden.value.Reader ?? golden.value.ID);

  for (let i = 0; i < frame!.payload.length; i++) {
    assert.throws(() => readOutput({ ...frame!, payload: frame!.payload.subarray(0, i) }), (e: unknown) => {
      assert.ok(e instanceof WatchglassError);
      assert.match(e.message, new RegExp(`^${golden.frame} frame: .* at byte \\d+$`));
      return true;
    });
  }
}

/** Converts a decoded output to plain values, for comparison. */
function comparable(v: any): any {
  if (v instanceof Item) {
    const e = v.envelope();
    const body = Buffer.from(e.body);
    return {
      resourceVersion: v.resourceVersion,
      flags: v.flags,
      labels: v.labels(),
      envelope: { ...e, body: e.codec === 1 ? body.toString() : body.toString("hex") },
    };
  }
  if (v instanceof Uint8Array) return Buffer.from(v).toString("hex");
  if (Array.isArray(v)) return v.map(comparable);
  if (v === null || typeof v !== "object") return v ?? null;
  return Object.fromEntries(Object.entries(v).map(([k, m]) => [k, comparable(m)]));
}

const states = ["connecting", "syncing", "live", "reconnecting", "stale", "forbidden", "closed"];


/** Converts a golden value to the form that {@link comparable} returns for the decoded frame. */
function expected(v: any): any {
  if (Array.isArray(v)) return v.map(expected);
  if (v === null || typeof v !== "object") return v;
  if ("Envelope" in v) {
    const labels = Object.fromEntries(v.Labels.map((l: any) => [l.Key, l.Value]));
    return { resourceVersion: v.ResourceVersion, flags: v.Flags, labels, envelope: envelope(v.Envelope) };
  }
  if ("Reason" in v) {
    const s: any = { code: v.Code, reason: v.Reason, message: v.Message };
    if (v.Cause) s.cause = v.Cause;
    if (v.RetryAfterSeconds) s.retryAfterSeconds = v.RetryAfterSeconds;
    return s;
  }
  if ("Resource" in v) {
    const { Group, Version, Name } = v.Resource;
    return {
      group: Group,
      version: Version,
      resource: Name,
      kind: v.Kind,
      namespaced: v.Namespaced,
      fields: v.Fields,
      columns: v.Columns.map((c: any) => ({ name: c.Name, kind: columnKinds[c.Kind], path: c.Path, priority: c.Priority, printer: c.Printer, default: c.Default })),
    };
  }
  if ("Slot" in v) return [v.Slot, expected(v.Item)];
  if ("Rows" in v && "Value" in v) return { values: [v.Value, v.Then], rows: Number(v.Rows), aggregates: v.Aggregates.map(aggregate) };
  if ("Name" in v && "Value" in v) return [v.Name, Number(v.Value)];
  if ("Type" in v && "Item" in v) return event(v);
  const out: any = {};
  for (const [k, m] of Object.entries<any>(v)) {
    const name = camel(k);
    out[name] = wide.has(name) && typeof m === "string" ? Number(m) : expected(m);
    if (name === "state") out[name] = states[m];
    if (name === "end" && "Watch" in v) out[name] = watchEnds[m];
    if (name === "object") out[name] = ["collection", "watch", "view", "object", "restore", "reader"][m];
  }
  return out;
}

const aggregate = (v: any): any => ({ count: Number(v.Values), sum: Number(v.Sum), min: Number(v.Min), max: Number(v.Max) });

function event(v: any): any {
  const type = ["", "ADDED", "MODIFIED", "DELETED", "BOOKMARK"][v.Type];
  if (type === "BOOKMARK") return { type, resourceVersion: v.Item.ResourceVersion, flags: v.Item.Flags };
  return { type, item: expected(v.Item), previous: expected(v.Previous) };
}

function envelope(v: any): any {
  const cell = (c: any) => [null, c.Int !== "0", Number(c.Int), Number(c.Float.replace("+Inf", "Infinity")), Number(c.Int), c.Text, Number(c.Int)][c.Kind];
  const times = Object.fromEntries(v.Columns.flatMap((c: any, i: number) => (c.Time === "0" ? [] : [[i, Number(c.Time)]])));
  return { key: v.Key, uid: v.UID, fields: v.Fields, columns: v.Columns.map(cell), times, codec: v.Codec, body: v.Body };
}

test("every command and every output has a golden file", () => {
  const frames = new Set(goldens.map(([, g]) => g.frame));
  for (const name of Object.keys(commandTypes)) assert.ok(frames.has(name), name);
  for (const [, parser] of Object.entries(outputParsers)) assert.ok(frames.has(parser[0]), parser[0]);
  for (const [name, type] of Object.entries(readerFrames)) {
    assert.equal(type, Number.parseInt(goldens.find(([, g]) => g.frame === name)![1].hex.slice(0, 2), 16), name);
  }
});

test("the fingerprint equals the module's", () => {
  const lines = goldens.map(([file, { hex }]) => [file, hex, Number.parseInt(hex.slice(0, 2), 16)] as const);
  const hash = createHash("sha256");
  for (const [file, hex, type] of lines.sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (type >= 0x40 && type < 0x80) hash.update(`${file} ${hex}\n`);
  }
  assert.equal(fingerprint.toString(16).padStart(6, "0"), hash.digest("hex").slice(0, 6));
});

test("numbers survive at every length", () => {
  const values = [0n, 1n, 0x7fn, 0x80n, 0x3fffn, 0x4000n, 1n << 31n, 1n << 32n, (1n << 49n) - 1n, 1n << 49n, (1n << 53n) - 1n, 1n << 53n, 1n << 63n, (1n << 64n) - 1n];
  for (const v of values) {
    const w = new Writer();
    w.uvarint(v);
    const big = w.take();
    assert.equal(new Reader(big, "Test").resourceVersion(), String(v));
    if (v > BigInt(Number.MAX_SAFE_INTEGER)) {
      assert.throws(() => new Reader(big, "Test").uvarint(), /Test frame: number beyond 53 bits at byte/);
      continue;
    }
    w.uvarint(Number(v));
    assert.deepEqual(w.take(), big);
    assert.equal(new Reader(big, "Test").uvarint(), Number(v));
  }
  const w = new Writer();
  for (const v of [-1, 0.5, Number.NaN, 2 ** 53, -1n, 1n << 64n]) assert.throws(() => w.uvarint(v), WatchglassError);
  assert.throws(() => new Reader(new Uint8Array(10).fill(0xff), "Test").resourceVersion(), /varint beyond 64 bits/);
});

// A partial frame would corrupt the next command. The engine would then close
// everything that the program has open.
test("a command that cannot be written leaves no bytes behind", () => {
  const w = new Writer();
  writeCommand(w, { type: "Reconnect" });
  assert.throws(() => writeCommand(w, { type: "TakeSnapshot", request: 1, collection: 1, resourceVersion: String(2n ** 64n), clusterID: "", chunkBytes: 0 }), /is not an unsigned 64-bit integer/);
  writeCommand(w, { type: "Reconnect" });
  assert.deepEqual([...split(w.take())].map(({ type }) => type), [commandTypes.Reconnect, commandTypes.Reconnect]);
});

test("unknown frames: optional ones are skipped, others refused", () => {
  const [optional, unknown] = split(new Uint8Array([0x80, 1, 9, 0x7f, 0]));
  assert.equal(readOutput(optional!), undefined);
  assert.throws(() => readOutput(unknown!), /unknown frame type 0x7f: the module is of another release; reload the page/);
});

test("a label named __proto__ is a label", () => {
  const w = new Writer();
  w.uvarint(1);
  w.byte(0);
  w.uvarint(1);
  w.text("__proto__");
  w.text("x");
  w.bytes(new Uint8Array([1, 65, 0, 2, 0, 0, 0]));
  const labels = new Item(new Reader(w.take(), "Test")).labels();
  assert.deepEqual(Object.keys(labels), ["__proto__"]);
});

test("the head of a frame contains its length", () => {
  const w = new Writer();
  w.frame(0x30, () => w.bytes(new Uint8Array(300)));
  const frame = w.take();
  assert.equal(frameBytes(frame), frame.length);
  assert.equal(frameBytes(frame.subarray(0, 4)), frame.length);
  for (const start of [[], [0x30], [0x30, 0x80], [0x30, ...Array(9).fill(0xff)]]) assert.equal(frameBytes(Uint8Array.from(start)), 0);
});
