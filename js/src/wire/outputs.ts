import { protocolError } from "../errors.js";
import type { Aggregate, Column, Group, Groups, ResourceVersion, Schema, State, Status, WatchEnd } from "../types.js";
import { Reader, type Frame } from "./codec.js";
import { Item, minItem } from "./item.js";

/** One event of a WatchEvents frame. */
export type WatchEventFrame =
  | ChangeFrame
  | { type: "BOOKMARK"; resourceVersion: ResourceVersion; flags: number };

export interface ChangeFrame {
  type: "ADDED" | "MODIFIED" | "DELETED";
  item: Item;
  /** The version before the change, if the watch requests it. */
  previous: Item | undefined;
}

/**
 * An edit of the rows of a window. Edits apply from top to bottom: the next `keep` rows are
 * unchanged, and the `remove` rows after them are replaced by the rows of `insert`. Rows after the
 * last edit are unchanged.
 */
export interface Edit {
  keep: number;
  remove: number;
  insert: Item[];
}

/** The minimum size of an {@link Edit} on the wire, in bytes. */
const minEdit = 3;

/** The subject of a {@link Delivery} of type "Rejected". */
export type Rejectable = "collection" | "watch" | "view" | "object" | "restore" | "reader";

/**
 * The outputs from the engine to a member, such as a page. The ID identifies the
 * collection, watch, view, object handle or request. Bytes and items alias the message,
 * and everything else is a copy. Outputs for the driver are in driver-outputs.ts,
 * which pages with a worker do not load.
 */
export type Delivery =
  | {
      type: "CollectionState";
      id: number;
      state: State;
      resourceVersion: ResourceVersion;
      lastProgressMillis: number;
      nextAttemptMillis: number;
      objects: number;
      loaded: number;
      total: number;
      bodies: number;
      status: Status | undefined;
    }
  | { type: "CollectionSchema"; id: number; schema: Schema }
  | { type: "CollectionError"; id: number; key: string; resourceVersion: ResourceVersion; status: Status | undefined }
  | { type: "WatchEvents"; id: number; events: WatchEventFrame[] }
  | { type: "WatchClosed"; id: number; end: WatchEnd; status: Status | undefined }
  | {
      type: "ViewPatch";
      id: number;
      resourceVersion: ResourceVersion;
      total: number;
      offset: number;
      /** The last element contains the groups of the view, if the view has groups. */
      facets: Groups[];
      /** Whether the edits start from an empty window. */
      reset: boolean;
      edits: Edit[];
    }
  | { type: "Rejected"; object: Rejectable; id: number; status: Status | undefined }
  | { type: "ObjectReply"; id: number; item: Item }
  | { type: "ListReply"; id: number; resourceVersion: ResourceVersion; continue: string; remaining: number; items: Item[] }
  | { type: "InspectReply"; id: number; entries: [name: string, value: number][] }
  | { type: "ErrorReply"; id: number; status: Status | undefined }
  | { type: "ObjectChanged"; id: number; resourceVersion: ResourceVersion; item: Item | undefined }
  | { type: "ObjectState"; id: number; state: State; status: Status | undefined }
  | { type: "SnapshotChunk"; id: number; whole: boolean; last: boolean; resourceVersion: ResourceVersion; clusterID: string; data: Uint8Array };

/** The states of a collection, in the order of their numbers on the wire. */
export const states: readonly State[] = ["connecting", "syncing", "live", "reconnecting", "stale", "forbidden", "closed"];
/** The kinds of columns, in the order of their numbers on the wire. */
export const columnKinds: readonly Column["kind"][] = ["null", "bool", "integer", "number", "date", "string", "duration"];
const eventTypes = [undefined, "ADDED", "MODIFIED", "DELETED", "BOOKMARK"] as const;
const modified = 2;
const modifiedWithPrevious = 0x80 | modified;
/** The reasons why a watch ends, in the order of their numbers on the wire. */
export const watchEnds: readonly WatchEnd[] = ["Closed", "CollectionClosed", "EngineReplaced", "Timeout", "Refused", "SlowConsumer", "Overtaken", "HistoryLost", "Corrupt"];
/** The subjects of rejections, in the order of their numbers on the wire. */
export const rejectables: readonly Rejectable[] = ["collection", "watch", "view", "object", "restore", "reader"];

/**
 * The name and the parser of each output, by the type byte of its frame. Parsers return the output
 * without its `type`.
 */
export interface Parsers<T extends { type: string }> {
  readonly [type: number]: { [Name in T["type"]]: readonly [name: Name, parse: (r: Reader) => Omit<Extract<T, { type: Name }>, "type">] }[T["type"]];
}

export const deliveryParsers: Parsers<Delivery> = {
  0x64: ["CollectionState", collectionState],
  0x65: ["CollectionSchema", (r) => ({ id: r.uint32(), schema: schema(r) })],
  0x66: [
    "CollectionError",
    (r) => ({
      id: r.uint32(),
      key: r.text(),
      resourceVersion: r.resourceVersion(),
      status: status(r),
    }),
  ],
  0x67: ["WatchEvents", (r) => ({ id: r.uint32(), events: r.list(3, () => watchEvent(r)) })],
  0x68: ["WatchClosed", (r) => ({ id: r.uint32(), end: r.oneOf(watchEnds), status: status(r) })],
  0x69: ["ViewPatch", viewPatch],
  0x6a: [
    "Rejected",
    (r) => ({ object: r.oneOf(rejectables), id: r.uint32(), status: status(r) }),
  ],
  0x6b: ["ObjectReply", (r) => ({ id: r.uint32(), item: new Item(r) })],
  0x6c: ["ListReply", listReply],
  0x6d: [
    "InspectReply",
    (r) => ({
      id: r.uint32(),
      entries: r.list(2, (): [string, number] => [r.text(), r.varint()]),
    }),
  ],
  0x6e: ["ErrorReply", (r) => ({ id: r.uint32(), status: status(r) })],
  0x6f: [
    "ObjectChanged",
    (r) => ({
      id: r.uint32(),
      resourceVersion: r.resourceVersion(),
      item: r.bool() ? new Item(r) : undefined,
    }),
  ],
  0x70: [
    "ObjectState",
    (r) => ({ id: r.uint32(), state: r.oneOf(states), status: status(r) }),
  ],
  0x71: [
    "SnapshotChunk",
    (r) => ({
      id: r.uint32(),
      whole: r.bool(),
      last: r.bool(),
      resourceVersion: r.resourceVersion(),
      clusterID: r.text(),
      data: r.bytes(),
    }),
  ],
};

/** Parses a frame for a member. Returns undefined for an unknown type that is optional. */
export const readDelivery = (frame: Frame): Delivery | undefined => parse(frame, deliveryParsers);

export function parse<T extends { type: string }>(frame: Frame, parsers: Parsers<T>): T | undefined {
  const known = parsers[frame.type];
  if (!known) {
    if (frame.type >= 0x80) return undefined;
    throw protocolError(`unknown frame type 0x${frame.type.toString(16)}: the module is of another release; reload the page`);
  }
  const [type, read]: readonly [type: string, read: (r: Reader) => object] = known;
  const r = new Reader(frame.payload, type);
  const output = { type, ...read(r) } as T;
  r.done();
  return output;
}

function collectionState(r: Reader): Omit<Delivery & { type: "CollectionState" }, "type"> {
  return {
    id: r.uint32(),
    state: r.oneOf(states),
    resourceVersion: r.resourceVersion(),
    lastProgressMillis: r.varint(),
    nextAttemptMillis: r.varint(),
    objects: r.uvarint(),
    loaded: r.uvarint(),
    total: r.uvarint(),
    bodies: r.uvarint(),
    status: status(r),
  };
}

function watchEvent(r: Reader): WatchEventFrame {
  let n = r.byte();
  let previous: Item | undefined;
  if (n === modifiedWithPrevious) {
    previous = new Item(r);
    n = modified;
  }
  const type = eventTypes[n];
  switch (type) {
    case undefined:
      return r.fail("unknown event type");
    case "BOOKMARK":
      return { type, resourceVersion: r.resourceVersion(), flags: r.byte() };
  }
  return { type, item: new Item(r), previous };
}

function viewPatch(r: Reader): Omit<Delivery & { type: "ViewPatch" }, "type"> {
  return {
    id: r.uint32(),
    resourceVersion: r.resourceVersion(),
    total: r.uvarint(),
    offset: r.uint32(),
    facets: r.list(3, () => ({ values: r.list(4, () => group(r)), otherValues: r.uvarint(), otherRows: r.uvarint() })),
    reset: r.bool(),
    edits: r.list(minEdit, (): Edit => ({ keep: r.uint32(), remove: r.uint32(), insert: r.list(minItem, () => new Item(r)) })),
  };
}

function group(r: Reader): Group {
  const aggregate = (): Aggregate => ({ count: r.uvarint(), sum: r.float(), min: r.float(), max: r.float() });
  return { values: [r.text(), r.text()], rows: r.uvarint(), aggregates: r.list(25, aggregate) };
}

function listReply(r: Reader): Omit<Delivery & { type: "ListReply" }, "type"> {
  return {
    id: r.uint32(),
    resourceVersion: r.resourceVersion(),
    continue: r.text(),
    remaining: r.uvarint(),
    items: r.list(minItem, () => new Item(r)),
  };
}

/** Reads a status. Returns undefined for code zero. */
export function status(r: Reader): Status | undefined {
  const s: Status = { code: r.uint32(), reason: r.text(), message: r.text() };
  const cause = r.text();
  const retryAfterSeconds = r.uint32();
  const next = r.text();
  if (next) s.continue = next;
  if (cause) s.cause = cause;
  if (retryAfterSeconds) s.retryAfterSeconds = retryAfterSeconds;
  return s.code === 0 ? undefined : s;
}

export function schema(r: Reader): Schema {
  return {
    group: r.text(),
    version: r.text(),
    resource: r.text(),
    kind: r.text(),
    namespaced: r.bool(),
    fields: r.list(1, () => r.text()),
    columns: r.list(6, () => ({
      name: r.text(),
      kind: r.oneOf(columnKinds),
      path: r.text(),
      priority: r.byte(),
      printer: r.text(),
      default: r.text(),
    })),
  };
}
