import type { Writer } from "./codec.js";
import { memberCommands, writeMemberCommand, type MemberCommand } from "./commands.js";

/**
 * The commands of the driver, which runs the engine: its configuration, the events of
 * streams, and the readers of an edge.
 */
type DriverCommand =
  | { type: "Config"; seed: number | bigint; client: string; maxBytes: number | bigint; maxHistory: number; credit: number | bigint; kubernetes?: string }
  | { type: "StreamOpened"; stream: number; token: string }
  | { type: "StreamData"; stream: number; data: Uint8Array }
  | { type: "StreamClosed"; stream: number; message: string }
  | { type: "Fetched"; stream: number; code: number; retryAfterSeconds: number }
  | {
      type: "AttachReader";
      reader: number;
      allowed: { resource: string; namespace: string }[];
      progressMillis: number;
      maxSubscriptions: number;
      room: number | bigint;
      saved: Uint8Array;
      stalled: boolean;
    }
  | { type: "ReaderMessage"; reader: number; data: Uint8Array }
  | { type: "GrantReader"; reader: number; bytes: number | bigint }
  | { type: "DetachReader"; reader: number }
  | { type: "SaveReader"; reader: number };

/** All commands to the engine. */
export type Command = MemberCommand | DriverCommand;

const driverCommandTypes: Readonly<Record<DriverCommand["type"], number>> = {
  Config: 0x40,
  StreamOpened: 0x50,
  StreamData: 0x51,
  StreamClosed: 0x52,
  AttachReader: 0x57,
  ReaderMessage: 0x58,
  GrantReader: 0x59,
  DetachReader: 0x5a,
  SaveReader: 0x5b,
  Fetched: 0x5c,
};

/** The type byte of every command. */
export const commandTypes: Readonly<Record<Command["type"], number>> = {
  ...(Object.fromEntries(Object.entries(memberCommands).map(([name, [type]]) => [name, type])) as Record<MemberCommand["type"], number>),
  ...driverCommandTypes,
};

/** Appends a command as one frame. */
export function writeCommand(w: Writer, command: Command): void {
  if (isDriverCommand(command)) w.frame(driverCommandTypes[command.type], () => writePayload(w, command));
  else writeMemberCommand(w, command);
}

const isDriverCommand = (command: Command): command is DriverCommand => command.type in driverCommandTypes;

/**
 * Returns the part of a StreamData frame that precedes its data, so that callers need not copy the
 * data.
 */
export function streamDataHead(stream: number, bytes: number): Uint8Array {
  const payload = varint(stream);
  const length = varint(bytes);
  return Uint8Array.from([commandTypes.StreamData, ...varint(payload.length + length.length + bytes), ...payload, ...length]);
}

function varint(v: number): number[] {
  const bytes: number[] = [];
  for (; v >= 0x80; v = Math.floor(v / 0x80)) bytes.push((v % 0x80) | 0x80);
  return [...bytes, v];
}

function writePayload(w: Writer, c: DriverCommand): void {
  switch (c.type) {
    case "Config":
      w.uvarint(c.seed);
      w.text(c.client);
      w.uvarint(c.maxBytes);
      w.uvarint(c.maxHistory);
      w.uvarint(c.credit);
      return w.text(c.kubernetes ?? "");
    case "StreamOpened":
      w.uvarint(c.stream);
      return w.text(c.token);
    case "StreamData":
      w.uvarint(c.stream);
      return w.bytes(c.data);
    case "StreamClosed":
      w.uvarint(c.stream);
      return w.text(c.message);
    case "Fetched":
      w.uvarint(c.stream);
      w.uvarint(c.code);
      return w.uvarint(c.retryAfterSeconds);
    case "AttachReader":
      w.uvarint(c.reader);
      w.uvarint(c.allowed.length);
      for (const { resource, namespace } of c.allowed) {
        w.text(resource);
        w.text(namespace);
      }
      w.uvarint(c.progressMillis);
      w.uvarint(c.maxSubscriptions);
      w.uvarint(c.room);
      w.bytes(c.saved);
      return w.bool(c.stalled);
    case "ReaderMessage":
      w.uvarint(c.reader);
      return w.bytes(c.data);
    case "GrantReader":
      w.uvarint(c.reader);
      return w.uvarint(c.bytes);
    case "DetachReader":
    case "SaveReader":
      return w.uvarint(c.reader);
  }
}
