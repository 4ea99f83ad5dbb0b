import type { Engine } from "../src/engine.js";
import type { Counters } from "../src/edge/counters.js";
import { Metrics } from "../src/edge/metrics.js";
import { withDefaults } from "../src/edge/options.js";
import type { ObjectState } from "../src/edge/platform.js";
import { Readers } from "../src/edge/readers.js";
import type { StoredCollections } from "../src/edge/stored-collections.js";
import type { MemberEvents } from "../src/member.js";

/** A socket that records the messages that are sent to it. */
class FakeSocket {
  readyState = 1;
  sent: Uint8Array[] = [];
  closed = "";
  #attachment: unknown;

  constructor(attachment: unknown) {
    this.#attachment = attachment;
  }

  accept(): void {}
  send(message: Uint8Array): void {
    this.sent.push(message.slice());
  }
  close(code: number, reason: string): void {
    this.closed = `${code} ${reason}`;
  }
  serializeAttachment(value: unknown): void {
    this.#attachment = value;
  }
  deserializeAttachment(): unknown {
    return this.#attachment;
  }
}

/** Returns the Readers of an object, with one connected reader and a fake engine. */
export function readersOf(grant: object, collections: Partial<StoredCollections> = {}): { readers: Readers; socket: FakeSocket; events: MemberEvents; commands: Uint8Array[]; metrics: Metrics } {
  let events!: MemberEvents;
  const commands: Uint8Array[] = [];
  const attach = (given: MemberEvents) => ((events = given), { member: 1, send: (frames: Uint8Array) => void commands.push(frames), hide() {}, leave() {} });
  const socket = new FakeSocket({ serial: 1, grant, saved: new Uint8Array() });
  const state = { getWebSockets: () => [socket] } as unknown as ObjectState;
  const metrics = new Metrics();
  const counters = { add() {} } as unknown as Counters;
  const readers = new Readers(state, { attach } as unknown as Engine, withDefaults({}), { scarce: false, refused: () => undefined, ...collections } as StoredCollections, counters, metrics);
  readers.start();
  commands.length = 0;
  return { readers, socket, events, commands, metrics };
}
