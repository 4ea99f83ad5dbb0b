import type { Column } from "../types.js";
import type { Writer } from "./codec.js";
import { columnKinds } from "./outputs.js";

/** The values of resourceVersionMatch on the wire. */
export const Match = { unset: 0, NotOlderThan: 1, Exact: 2 } as const;

/** The values of an optional boolean on the wire. */
export const Tristate = { unset: 0, false: 1, true: 2 } as const;

/** The values of {@link WatchOptions.policy} on the wire. */
export const Policy = { stall: 2, terminate: 0, conflate: 1 } as const;

interface Select {
  namespace: string;
  labelSelector: string;
  fieldSelector: string;
}

/**
 * A facet, or the groups of a view. The properties must be in the order of the wire format, because
 * they are encoded in that order.
 */
export interface CountedFacet {
  by: string;
  then: string;
  limit: number;
  width: number;
  rowsOnly: boolean;
  aggregates: readonly string[];
}

/**
 * The commands from a member, such as a page, to the engine. The member assigns the IDs, which must
 * fit in 32 bits. core/wire documents every field. The commands of the driver are in
 * driver-commands.ts, which pages with a worker do not load.
 */
export type MemberCommand =
  | ({ type: "OpenCollection"; collection: number; resource: string; metadataOnly: boolean; rowsFirst?: boolean | undefined; restore: boolean; columns?: readonly Column[] } & Select)
  | { type: "CloseCollection"; collection: number }
  | ({
      type: "OpenWatch";
      watch: number;
      collection: number;
      resourceVersion: string;
      match: number;
      sendInitialEvents: number;
      bookmarks: boolean;
      timeoutSeconds: number;
      bodies: boolean;
      policy: number;
      credit: number;
      previous: boolean;
    } & Select)
  | { type: "GrantWatch"; watch: number; events: number }
  | { type: "CloseWatch"; watch: number }
  | { type: "Get"; request: number; collection: number; key: string }
  | ({
      type: "List";
      request: number;
      collection: number;
      resourceVersion: string;
      match: number;
      limit: number;
      continue: string;
      bodies: boolean;
    } & Select)
  | {
      type: "OpenView";
      view: number;
      collection: number;
      namespaces: readonly string[];
      labelSelector: string;
      fieldSelector: string;
      search: string;
      where: string;
      ownedBy: string;
      recursive: boolean;
      sort: string;
      offset: number;
      limit: number;
      anchor: string;
      before: number;
      facets: readonly CountedFacet[];
    }
  | { type: "GrantView"; view: number }
  | { type: "MoveView"; view: number; offset: number; limit: number; anchor: string; before: number }
  | { type: "CloseView"; view: number }
  | { type: "AcquireObject"; handle: number; resource: string; key: string; owner: string; onDemand: boolean }
  | { type: "ReleaseObject"; handle: number }
  | { type: "GetObject"; request: number; resource: string; key: string }
  | { type: "Inspect"; request: number }
  | { type: "Reconnect" }
  | { type: "TakeSnapshot"; request: number; collection: number; resourceVersion: string; clusterID: string; chunkBytes: number }
  | { type: "NextChunk"; request: number; stop: boolean }
  | { type: "RestoreChunk"; collection: number; data: Uint8Array; end: boolean; body: number };

/** The type byte of every command, and the fields of its payload in order. */
export const memberCommands: { [Type in MemberCommand["type"]]: readonly [type: number, ...members: Exclude<keyof Extract<MemberCommand, { type: Type }>, "type">[]] } = {
  OpenCollection: [0x41, "collection", "resource", "namespace", "labelSelector", "fieldSelector", "metadataOnly", "rowsFirst", "restore", "columns"],
  CloseCollection: [0x42, "collection"],
  OpenWatch: [0x43, "watch", "collection", "namespace", "labelSelector", "fieldSelector", "resourceVersion", "match", "sendInitialEvents", "bookmarks", "timeoutSeconds", "bodies", "policy", "credit", "previous"],
  GrantWatch: [0x44, "watch", "events"],
  CloseWatch: [0x45, "watch"],
  Get: [0x46, "request", "collection", "key"],
  List: [0x47, "request", "collection", "namespace", "labelSelector", "fieldSelector", "resourceVersion", "match", "limit", "continue", "bodies"],
  OpenView: [0x48, "view", "collection", "namespaces", "labelSelector", "fieldSelector", "search", "where", "ownedBy", "recursive", "sort", "offset", "limit", "anchor", "before", "facets"],
  GrantView: [0x4f, "view"],
  MoveView: [0x49, "view", "offset", "limit", "anchor", "before"],
  CloseView: [0x4a, "view"],
  Inspect: [0x4b, "request"],
  AcquireObject: [0x4c, "handle", "resource", "key", "owner", "onDemand"],
  ReleaseObject: [0x4d, "handle"],
  GetObject: [0x4e, "request", "resource", "key"],
  Reconnect: [0x53],
  TakeSnapshot: [0x54, "request", "collection", "resourceVersion", "clusterID", "chunkBytes"],
  NextChunk: [0x55, "request", "stop"],
  RestoreChunk: [0x56, "collection", "data", "end", "body"],
};

/** Appends a command as one frame. */
export function writeMemberCommand(w: Writer, command: MemberCommand): void {
  const [type, ...members] = memberCommands[command.type];
  w.frame(type, () => {
    for (const name of members) {
      const value: unknown = command[name as keyof MemberCommand];
      if (name === "columns") writeColumns(w, value as readonly Column[]);
      else if (command.type === "TakeSnapshot" && name === "resourceVersion") w.uvarint(BigInt(value as string));
      else write(w, value);
    }
  });
}

/**
 * Writes the value of a field, encoded according to its JavaScript type. An object is written as
 * its properties, in order. Undefined is written as false.
 */
function write(w: Writer, value: unknown): void {
  if (typeof value === "string") w.text(value);
  else if (typeof value === "number") w.uvarint(value);
  else if (value instanceof Uint8Array) w.bytes(value);
  else if (Array.isArray(value)) {
    w.uvarint(value.length);
    for (const one of value) write(w, one);
  } else if (typeof value === "object") for (const one of Object.values(value!)) write(w, one);
  else w.bool(value as boolean | undefined);
}

function writeColumns(w: Writer, columns: readonly Column[] = []): void {
  w.uvarint(columns.length);
  for (const column of columns) {
    w.text(column.name);
    w.byte(columnKinds.indexOf(column.kind));
    w.text(column.path);
    w.byte(column.priority);
    w.text(column.printer);
    w.text(column.default);
  }
}
