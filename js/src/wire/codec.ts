import { protocolError } from "../errors.js";
import type { ResourceVersion } from "../types.js";

/** The maximum size of a message to or from a connector. */
export const maxMessage = 16 << 20;

/** Identifies the layout of the frames to and from the module, as in core/wire. */
export const fingerprint = 0x065c72;

/** The types of the reader and connector frames that this package reads or writes itself. */
export const readerFrames = { Subscribe: 0x02, Schema: 0x11, SubscriptionStatus: 0x19, Pong: 0x86, Ping: 0x9c } as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Writes frames to a buffer that grows as needed. */
export class Writer {
  #bytes = new Uint8Array(256);
  #end = 0;

  /** Returns a copy of the frames, and empties the writer. */
  take(): Uint8Array<ArrayBuffer> {
    const frames = this.#bytes.slice(0, this.#end);
    this.#end = 0;
    return frames;
  }

  get length(): number {
    return this.#end;
  }

  /**
   * Writes one frame with the payload that `write` writes. If `write` throws, no part of
   * the frame is written.
   */
  frame(type: number, write: (w: this) => void): void {
    const start = this.#end;
    let payload: Uint8Array;
    try {
      write(this);
      payload = this.#bytes.slice(start, this.#end);
    } finally {
      this.#end = start;
    }
    this.byte(type);
    this.bytes(payload);
  }

  byte(v: number): void {
    this.#room(1);
    this.#bytes[this.#end++] = v;
  }

  bool(v: boolean | undefined): void {
    this.byte(v ? 1 : 0);
  }

  /** Writes a non-negative integer: a number up to 2^53-1, or a bigint up to 2^64-1. */
  uvarint(v: number | bigint): void {
    this.#room(10);
    const valid = typeof v === "bigint" ? v >= 0n && v < 1n << 64n : Number.isSafeInteger(v) && v >= 0;
    if (!valid) throw protocolError(`${v} is not an unsigned 64-bit integer`);
    if (typeof v === "bigint") {
      for (; v >= 0x80n; v >>= 7n) this.#bytes[this.#end++] = Number(v & 0x7fn) | 0x80;
      this.#bytes[this.#end++] = Number(v);
      return;
    }
    for (; v >= 0x80; v = Math.floor(v / 0x80)) this.#bytes[this.#end++] = (v % 0x80) | 0x80;
    this.#bytes[this.#end++] = v;
  }

  bytes(v: Uint8Array): void {
    this.uvarint(v.length);
    this.#room(v.length);
    this.#bytes.set(v, this.#end);
    this.#end += v.length;
  }

  text(v: string): void {
    this.bytes(encoder.encode(v));
  }

  #room(n: number): void {
    if (this.#end + n <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#end + n));
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
  }
}

/**
 * Reads one payload. A Reader throws at the first error, with the name of the frame and the offset
 * in its payload. Returned bytes alias the payload.
 */
export class Reader {
  readonly #bytes: Uint8Array;
  readonly #frame: string;
  #at = 0;

  constructor(payload: Uint8Array, frame: string) {
    this.#bytes = payload;
    this.#frame = frame;
  }

  fail(what: string): never {
    throw protocolError(`${this.#frame} frame: ${what} at byte ${this.#at}`);
  }

  get at(): number {
    return this.#at;
  }

  byte(): number {
    const v = this.#bytes[this.#at];
    if (v === undefined) this.fail("truncated");
    this.#at++;
    return v;
  }

  /** Reads a byte that must be less than `end`. */
  option(end: number): number {
    const v = this.byte();
    if (v >= end) this.fail("unknown option value");
    return v;
  }

  bool(): boolean {
    return this.option(2) === 1;
  }

  /** Reads the index of one of the values, and returns the value. */
  oneOf<T>(values: readonly T[]): T {
    return values[this.option(values.length)]!;
  }

  /** Reads a number up to 2^53-1. */
  uvarint(): number {
    const v = this.#uint64();
    if (typeof v === "bigint") this.fail("number beyond 53 bits");
    return v;
  }

  /** Reads a signed 64-bit integer. For values beyond 2^53, returns the nearest number. */
  varint(): number {
    const v = this.#uint64();
    if (typeof v === "number") return v % 2 === 0 ? v / 2 : -(v + 1) / 2;
    return Number((v >> 1n) ^ -(v & 1n));
  }

  uint32(): number {
    const v = this.uvarint();
    if (v > 0xffff_ffff) this.fail("number beyond 32 bits");
    return v;
  }

  resourceVersion(): ResourceVersion {
    return String(this.#uint64());
  }

  float(): number {
    const at = this.#skip(8);
    return new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at, 8).getFloat64(0, true);
  }

  /** Reads n bytes. By default, n is read from a length prefix. */
  bytes(n = this.uvarint()): Uint8Array {
    const at = this.#skip(n);
    return this.#bytes.subarray(at, at + n);
  }

  /** Skips a length prefix and that number of bytes. */
  skip(): void {
    this.#skip(this.uvarint());
  }

  text(n?: number): string {
    return decoder.decode(this.bytes(n));
  }

  /** Reads the number of elements that follow, each of at least `size` bytes. */
  count(size: number): number {
    const n = this.uvarint();
    if (n > (this.#bytes.length - this.#at) / size) this.fail("count beyond the end of the frame");
    return n;
  }

  list<T>(size: number, read: () => T): T[] {
    const values: T[] = new Array(this.count(size));
    for (let i = 0; i < values.length; i++) values[i] = read();
    return values;
  }

  /** Returns the encoded bytes from `start` to the current position. */
  since(start: number): Uint8Array {
    return this.#bytes.subarray(start, this.#at);
  }

  rest(): Uint8Array {
    const at = this.#at;
    this.#at = this.#bytes.length;
    return this.#bytes.subarray(at);
  }

  done(): void {
    if (this.#at < this.#bytes.length) this.fail("trailing bytes");
  }

  #skip(n: number): number {
    const at = this.#at;
    if (n > this.#bytes.length - at) this.fail("length beyond the end of the frame");
    this.#at += n;
    return at;
  }

  #uint64(): number | bigint {
    let v = 0;
    let unit = 1;
    for (let i = 0; i < 7; i++, unit *= 0x80) {
      const c = this.byte();
      v += (c & 0x7f) * unit;
      if (c < 0x80) return v;
    }
    // Seven bytes yield 49 bits. A number is exact up to 53 bits, so the rest is read as a bigint.
    let big = BigInt(v);
    for (let shift = 49n; shift < 64n; shift += 7n) {
      const c = this.byte();
      if (shift === 63n && c > 1) break;
      big |= BigInt(c & 0x7f) << shift;
      if (c < 0x80) return big <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(big) : big;
    }
    return this.fail("varint beyond 64 bits");
  }
}

/** One unparsed frame of a message. The payload aliases the message. */
export interface Frame {
  readonly type: number;
  readonly payload: Uint8Array;
  /** The complete frame, including type and length. */
  readonly bytes: Uint8Array;
}

/** Yields the frames of a message. */
export function* split(message: Uint8Array): Generator<Frame, void, void> {
  const r = new Reader(message, "unknown");
  while (r.at < message.length) {
    const start = r.at;
    const type = r.byte();
    yield { type, payload: r.bytes(), bytes: r.since(start) };
  }
}

/** Concatenates byte arrays. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Returns the size of the frame that begins with these bytes; zero if its head is
 * incomplete or invalid.
 */
export function frameBytes(start: Uint8Array): number {
  const r = new Reader(start.subarray(0, 10), "unknown");
  try {
    r.byte();
    return r.uvarint() + r.at;
  } catch {
    return 0;
  }
}
