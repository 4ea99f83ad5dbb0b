import { messagesPerAck } from "./member.js";
import { concat, split, type Frame } from "./wire/codec.js";
import { recipient } from "./wire/driver-outputs.js";

/**
 * The maximum number of messages that a page has not acknowledged. A page that is frozen or busy
 * does not process its messages, and the browser stores them without a limit.
 */
const maxUnacknowledged = 2 * messagesPerAck;

const [collectionState, objectChanged, objectState] = [0x64, 0x6f, 0x70];

/**
 * The frames from an engine to a page in another thread. While the page does not acknowledge its
 * messages, the outbox holds further frames, and drops states that a newer frame replaces. This
 * limits the size of the outbox, because a page receives events, rows and replies only after it has
 * granted or requested them.
 */
export class Outbox {
  readonly #send: (frames: Uint8Array<ArrayBuffer>) => void;
  /** The frames to send, in order. The keys identify the states that newer frames replace. */
  readonly #held = new Map<string, Uint8Array>();
  #unacknowledged = 0;
  #serial = 0;

  constructor(send: (frames: Uint8Array<ArrayBuffer>) => void) {
    this.#send = send;
  }

  /** Sends or holds frames. The outbox then owns the bytes. */
  add(frames: Uint8Array<ArrayBuffer>): void {
    if (this.#unacknowledged < maxUnacknowledged) return this.#post(frames);
    for (const frame of split(frames)) {
      const key = stateKey(frame) ?? `frame ${++this.#serial}`;
      this.#held.delete(key); // moves the entry to the end
      this.#held.set(key, frame.bytes.slice());
    }
  }

  /** Records that the page has processed {@link messagesPerAck} messages, and sends the held frames. */
  acknowledged(): void {
    this.#unacknowledged -= messagesPerAck;
    this.flush();
  }

  /** Sends the held frames, even if the page has not acknowledged its messages. */
  flush(): void {
    if (this.#held.size === 0) return;
    const frames = concat([...this.#held.values()]);
    this.#held.clear();
    this.#post(frames);
  }

  #post(frames: Uint8Array<ArrayBuffer>): void {
    this.#unacknowledged++;
    this.#send(frames);
  }
}

/**
 * Returns the key of a frame that replaces earlier frames with the same key, or undefined for other
 * frames. Pages react to a change of the state, such as from "forbidden" to "live", so a frame
 * replaces only frames with the same state.
 */
function stateKey(frame: Frame): string | undefined {
  const { type, payload } = frame;
  const id = recipient(frame);
  if (type === objectChanged) return `${type} ${id}`;
  if (type !== collectionState && type !== objectState) return undefined;
  return `${type} ${id} ${payload[idBytes(payload)]}`;
}

/** Returns the length of the ID at the start of a payload. The state follows the ID. */
const idBytes = (payload: Uint8Array): number => payload.findIndex((byte) => byte < 0x80) + 1;
