import type { Cell, ResourceVersion } from "../types.js";
import { Reader } from "./codec.js";

/** The flags of an item. */
export const Flag = {
  finalStateUnknown: 2,
  endOfInitialEvents: 4,
} as const;

/** The encodings of a body. The engine outputs no other encodings. */
export const Codec = { none: 0, json: 1 } as const;

/** The contents of an envelope. The body aliases its frame. */
export interface Envelope {
  key: string;
  uid: string;
  fields: string[];
  columns: Cell[];
  /** The time of each cell that is a count of events or a text with a time, by column index. */
  times: Record<number, number>;
  codec: number;
  body: Uint8Array;
}

/**
 * One object in the output of the engine. Each call of labels or envelope parses the bytes again,
 * so callers that need a result repeatedly must keep it.
 */
export class Item {
  readonly resourceVersion: ResourceVersion;
  readonly flags: number;
  /** The labels, followed by the envelope. */
  readonly #content: Uint8Array;
  readonly #envelope: number;

  constructor(r: Reader) {
    this.resourceVersion = r.resourceVersion();
    this.flags = r.byte();
    const start = r.at;
    for (let n = r.count(2); n > 0; n--) {
      r.skip();
      r.skip();
    }
    this.#envelope = r.at - start;
    r.skip();
    this.#content = r.since(start);
  }

  labels(): Record<string, string> {
    const r = new Reader(this.#content, "labels of an item");
    return Object.fromEntries(r.list(2, (): [string, string] => [r.text(), r.text()]));
  }

  envelope(): Envelope {
    const r = new Reader(new Reader(this.#content.subarray(this.#envelope), "item").bytes(), "envelope of an item");
    const key = r.text();
    const uid = readUID(r);
    const cells = new Reader(r.bytes(), "cells of an item");
    const fields = cells.list(1, () => field(cells, key));
    const times: Record<number, number> = {};
    let i = 0;
    const columns = cells.list(1, () => column(cells, fields, times, i++));
    cells.done();
    return { key, uid, fields, columns, times, codec: r.byte(), body: r.rest() };
  }
}

/** The minimum size of an item on the wire, in bytes. */
export const minItem = 11;

/** Reads a UID: a zero byte and a UUID of 16 bytes, or the length plus one and the text. */
function readUID(r: Reader): string {
  const n = r.uvarint();
  if (n > 0) return r.text(n - 1);
  const digits = Array.from(r.bytes(16), (b) => b.toString(16).padStart(2, "0")).join("");
  return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/**
 * Reads a field: 0 for the name in the key, 1 for the namespace in the key, or the length plus two
 * and the text.
 */
function field(r: Reader, key: string): string {
  const n = r.uvarint();
  if (n > 1) return r.text(n - 2);
  return splitKey(key)[n === 0 ? "name" : "namespace"];
}

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, Math.max(slash, 0)), name: key.slice(slash + 1) };
}

/** A cell of kind `sameAsField + i` has the same text as field i. */
const sameAsField = 0x10;

/** The kinds of cells with a text or an integer, followed by a time. */
const timedText = 0x0e, timedInteger = 0x0f;

function column(r: Reader, fields: string[], times: Record<number, number>, i: number): Cell {
  const kind = r.byte();
  const shared = fields[kind - sameAsField];
  if (shared !== undefined) return shared;
  switch (kind) {
    case 0:
      return null;
    case 1:
      return r.varint() !== 0;
    case 2:
    case 4:
    case 6:
      return r.varint();
    case timedText:
    case timedInteger: {
      const cell = kind === timedText ? r.text() : r.varint();
      times[i] = r.varint();
      return cell;
    }
    case 3:
      return r.float();
    case 5:
      return r.text();
  }
  return r.fail(`unknown kind of cell ${kind}`);
}
