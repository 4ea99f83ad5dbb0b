import { idsPerMember, type Engine, type Seat } from "../engine.js";
import { closeReason } from "../transport.js";
import { maxMessage, Writer, type Frame } from "../wire/codec.js";
import { writeCommand, type Command } from "../wire/commands.js";
import { readOutput } from "../wire/outputs.js";
import { scopes, type Grant } from "./grant.js";
import type { Settings } from "./options.js";
import { socketPair, type HibernatableSocket, type ObjectState } from "./platform.js";
import { upgraded, upgradeRefused } from "./upgrade.js";

const tag = "reader";

/** Bytes that are sent to a reader before it says anything. */
const roomBytes = 16 << 20;

/** What stays with a reader's socket while the object is not in memory. */
interface Attachment {
  id: number;
  grant: Grant;
}

interface Reader {
  readonly id: number;
  readonly socket: HibernatableSocket;
  /** Bytes sent since it last said something. */
  sent: number;
}

/** Those who read from an object. The engine serves them; this has their sockets. */
export class Readers {
  readonly #state: ObjectState;
  readonly #settings: Settings;
  readonly #seat: Seat;
  readonly #writer = new Writer();
  readonly #byId = new Map<number, Reader>();
  readonly #bySocket = new Map<HibernatableSocket, Reader>();
  #lastId = 0;

  constructor(state: ObjectState, engine: Engine, settings: Settings) {
    this.#state = state;
    this.#settings = settings;
    this.#seat = engine.attach({
      frames: () => {},
      frame: (frame) => this.#told(frame),
      restarted: () => this.#endAll("the engine broke and was restarted: connect again"),
      failed: (message) => this.#endAll(message),
      token: async () => "",
    });
  }

  get count(): number {
    return this.#bySocket.size;
  }

  accept(request: Request, grant: Grant): Response {
    const refused = upgradeRefused(request);
    if (refused) return refused;
    const [client, server] = socketPair();
    this.#state.acceptWebSocket(server, [tag]);
    const attachment: Attachment = { id: this.#newId(), grant };
    server.serializeAttachment(attachment);
    this.#attach(server, attachment);
    return upgraded(client);
  }

  message(socket: HibernatableSocket, message: string | Uint8Array): void {
    const reader = this.#bySocket.get(socket);
    if (!reader) return;
    if (typeof message === "string" || message.length > maxMessage) {
      this.#end(reader, 1002, "a message that is text or too long: every message of the protocol is binary");
      return;
    }
    // Whoever speaks has heard: there is room again for what it was sent.
    const { id, sent } = reader;
    reader.sent = 0;
    this.#command({ type: "GrantReader", reader: id, bytes: sent }, { type: "ReaderMessage", reader: id, data: message });
  }

  closed(socket: HibernatableSocket): void {
    const reader = this.#bySocket.get(socket);
    if (!reader) return;
    this.#forget(reader);
    this.#command({ type: "DetachReader", reader: reader.id });
  }

  #attach(socket: HibernatableSocket, { id, grant }: Attachment): void {
    const reader: Reader = { id, socket, sent: 0 };
    this.#byId.set(id, reader);
    this.#bySocket.set(socket, reader);
    this.#command({
      type: "AttachReader",
      reader: id,
      allowed: scopes(grant),
      progressMillis: this.#settings.progressMillis,
      maxSubscriptions: 0,
      room: roomBytes,
    });
  }

  /** What the engine has for a reader. */
  #told(frame: Frame): void {
    const output = readOutput(frame);
    if (output?.type === "SendReader") {
      const reader = this.#byId.get(output.reader);
      if (!reader) return;
      reader.sent += output.data.length;
      reader.socket.send(output.data);
    } else if (output?.type === "CloseReader") {
      const reader = this.#byId.get(output.reader);
      if (reader) this.#end(reader, 1002, output.status?.message ?? "");
    }
  }

  #command(...commands: Command[]): void {
    for (const command of commands) writeCommand(this.#writer, command);
    this.#seat.send(this.#writer.take());
  }

  #newId(): number {
    const base = this.#seat.member * idsPerMember;
    do {
      this.#lastId = (this.#lastId + 1) % idsPerMember;
    } while (this.#byId.has(base + this.#lastId));
    return base + this.#lastId;
  }

  #endAll(reason: string): void {
    for (const reader of [...this.#bySocket.values()]) this.#end(reader, 1012, reason);
  }

  #end(reader: Reader, code: number, reason: string): void {
    this.#forget(reader);
    try {
      reader.socket.close(code, closeReason(reason));
    } catch {
      // It is closed already.
    }
  }

  #forget({ id, socket }: Reader): void {
    this.#byId.delete(id);
    this.#bySocket.delete(socket);
  }
}
