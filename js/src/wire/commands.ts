import type { Column } from "../types.js";
import type { Writer } from "./codec.js";
import { columnKinds } from "./outputs.js";

/** resourceVersionMatch on the wire. */
export const Match = { unset: 0, NotOlderThan: 1, Exact: 2 } as const;

/** An optional boolean on the wire. */
export const Tristate = { unset: 0, false: 1, true: 2 } as const;

/** What happens to a watch with a slow consumer, on the wire. */
export const Policy = { terminate: 0, conflate: 1, stall: 2 } as const;

interface Select {
  namespace: string;
  labelSelector: string;
  fieldSelector: string;
}

/**
 * The commands from a member, such as a page, to the engine. The program chooses the IDs,
 * which fit 32 bits. core/wire documents every member. Those of the driver are in
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
      sort: string;
      offset: number;
      limit: number;
      facets: readonly { by: string; limit: number }[];
    }
  | { type: "GrantView"; view: number }
  | { type: "MoveView"; view: number; offset: number; limit: number }
  | { type: "CloseView"; view: number }
  | { type: "AcquireObject"; handle: number; resource: string; key: string; owner: string; onDemand: boolean }
  | { type: "ReleaseObject"; handle: number }
  | { type: "GetObject"; request: number; resource: string; key: string }
  | { type: "Inspect"; request: number }
  | { type: "Reconnect" }
  | { type: "TakeSnapshot"; request: number; collection: number; resourceVersion: string; source: string; chunkBytes: number }
  | { type: "NextChunk"; request: number; stop: boolean }
  | { type: "RestoreChunk"; collection: number; data: Uint8Array; end: boolean; body: number };

/** The type byte of every member's command. */
export const memberCommandTypes: Readonly<Record<MemberCommand["type"], number>> = {
  OpenCollection: 0x41,
  CloseCollection: 0x42,
  OpenWatch: 0x43,
  GrantWatch: 0x44,
  CloseWatch: 0x45,
  Get: 0x46,
  List: 0x47,
  OpenView: 0x48,
  GrantView: 0x4f,
  MoveView: 0x49,
  CloseView: 0x4a,
  Inspect: 0x4b,
  AcquireObject: 0x4c,
  ReleaseObject: 0x4d,
  GetObject: 0x4e,
  Reconnect: 0x53,
  TakeSnapshot: 0x54,
  NextChunk: 0x55,
  RestoreChunk: 0x56,
};

/** Appends a command as one frame. */
export function writeMemberCommand(w: Writer, command: MemberCommand): void {
  w.frame(memberCommandTypes[command.type], () => writePayload(w, command));
}

function writePayload(w: Writer, c: MemberCommand): void {
  switch (c.type) {
    case "OpenCollection":
      w.uvarint(c.collection);
      w.text(c.resource);
      writeSelect(w, c);
      w.bool(c.metadataOnly);
      w.bool(c.rowsFirst);
      w.bool(c.restore);
      return writeColumns(w, c.columns ?? []);
    case "CloseCollection":
      return w.uvarint(c.collection);
    case "OpenWatch":
      w.uvarint(c.watch);
      w.uvarint(c.collection);
      writeSelect(w, c);
      w.text(c.resourceVersion);
      w.byte(c.match);
      w.byte(c.sendInitialEvents);
      w.bool(c.bookmarks);
      w.uvarint(c.timeoutSeconds);
      w.bool(c.bodies);
      w.byte(c.policy);
      w.uvarint(c.credit);
      return w.bool(c.previous);
    case "GrantWatch":
      w.uvarint(c.watch);
      return w.uvarint(c.events);
    case "CloseWatch":
      return w.uvarint(c.watch);
    case "Get":
      w.uvarint(c.request);
      w.uvarint(c.collection);
      return w.text(c.key);
    case "List":
      w.uvarint(c.request);
      w.uvarint(c.collection);
      writeSelect(w, c);
      w.text(c.resourceVersion);
      w.byte(c.match);
      w.uvarint(c.limit);
      w.text(c.continue);
      return w.bool(c.bodies);
    case "OpenView":
      w.uvarint(c.view);
      w.uvarint(c.collection);
      w.uvarint(c.namespaces.length);
      for (const namespace of c.namespaces) w.text(namespace);
      w.text(c.labelSelector);
      w.text(c.fieldSelector);
      w.text(c.search);
      w.text(c.where);
      w.text(c.sort);
      w.uvarint(c.offset);
      w.uvarint(c.limit);
      w.uvarint(c.facets.length);
      for (const { by, limit } of c.facets) {
        w.text(by);
        w.uvarint(limit);
      }
      return;
    case "GrantView":
      return w.uvarint(c.view);
    case "MoveView":
      w.uvarint(c.view);
      w.uvarint(c.offset);
      return w.uvarint(c.limit);
    case "CloseView":
      return w.uvarint(c.view);
    case "AcquireObject":
      w.uvarint(c.handle);
      w.text(c.resource);
      w.text(c.key);
      w.text(c.owner);
      return w.bool(c.onDemand);
    case "ReleaseObject":
      return w.uvarint(c.handle);
    case "GetObject":
      w.uvarint(c.request);
      w.text(c.resource);
      return w.text(c.key);
    case "Inspect":
      return w.uvarint(c.request);
    case "Reconnect":
      return;
    case "TakeSnapshot":
      w.uvarint(c.request);
      w.uvarint(c.collection);
      w.uvarint(BigInt(c.resourceVersion));
      w.text(c.source);
      return w.uvarint(c.chunkBytes);
    case "NextChunk":
      w.uvarint(c.request);
      return w.bool(c.stop);
    case "RestoreChunk":
      w.uvarint(c.collection);
      w.bytes(c.data);
      w.bool(c.end);
      return w.uvarint(c.body);
  }
}

function writeSelect(w: Writer, c: Select): void {
  w.text(c.namespace);
  w.text(c.labelSelector);
  w.text(c.fieldSelector);
}

function writeColumns(w: Writer, columns: readonly Column[]): void {
  w.uvarint(columns.length);
  for (const { name, kind, path, priority, printer, default: missing } of columns) {
    w.text(name);
    w.byte(columnKinds.indexOf(kind));
    w.text(path);
    w.byte(priority);
    w.text(printer);
    w.text(missing);
  }
}
