// This module tracks the bytes that were sent to readers and may be unread. These bytes occupy the
// memory of the isolate, and the platform does not report their number. A reader that stopped
// reading looks like an idle one. If the total is large, the object therefore sends a Ping with a
// random mark. A reader can respond to the Ping only after it has read all earlier data.

/** The time that a reader has to answer a Ping while memory is short, in milliseconds. */
const answerMillis = 10_000;

/** The bytes that may be sent beyond the limit, because a Ping takes time to answer. */
const graceBytes = 16 << 20;

export interface Ping {
  mark: number;
  /** The bytes that were sent before the Ping. */
  bytes: number;
  at: number;
}

/** The accounting of the bytes that were sent to one reader. */
export interface Account {
  /** The bytes that were sent and not acknowledged by a Pong. */
  unacknowledged: number;
  /** The last Ping, until the reader answers it. */
  ping: Ping | undefined;
}

/** The accounting of all readers of an object. */
export class Backlog<R extends Account> {
  readonly #readers = new Set<R>();
  #bytes = 0;
  /** The part of {@link bytes} that belongs to readers without an unanswered Ping. */
  #unpinged = 0;
  /** The memory limit in bytes. */
  #room = Infinity;

  get bytes(): number {
    return this.#bytes;
  }

  set room(bytes: number) {
    this.#room = bytes;
  }

  add(reader: R): void {
    this.#readers.add(reader);
    this.#bytes += reader.unacknowledged;
    if (!reader.ping) this.#unpinged += reader.unacknowledged;
  }

  delete(reader: R): void {
    if (!this.#readers.delete(reader)) return;
    this.#bytes -= reader.unacknowledged;
    if (!reader.ping) this.#unpinged -= reader.unacknowledged;
  }

  /**
   * Counts bytes that were sent to a reader. Reports whether the {@link slowest} reader must be
   * closed immediately.
   */
  sent(reader: R, bytes: number): boolean {
    reader.unacknowledged += bytes;
    this.#bytes += bytes;
    if (!reader.ping) this.#unpinged += bytes;
    return this.#bytes > this.#room + graceBytes;
  }

  /**
   * Yields the readers to ping, if the bytes of readers without an unanswered Ping exceed half of
   * the limit. Readers with the most bytes come first, until the readers without an unanswered
   * Ping have at most a quarter of the limit.
   */
  *pings(now: number): Generator<[reader: R, mark: number], void, void> {
    if (this.#unpinged <= this.#room / 2) return;
    for (const reader of most([...this.#readers].filter(({ ping }) => !ping))) {
      if (this.#unpinged <= this.#room / 4) return;
      const mark = randomMark();
      reader.ping = { mark, bytes: reader.unacknowledged, at: now };
      this.#unpinged -= reader.unacknowledged;
      yield [reader, mark];
    }
  }

  /** Handles a Pong, which acknowledges the bytes sent before the Ping with the same mark. */
  pong(reader: R, mark: number | bigint): void {
    const { ping } = reader;
    if (!ping || ping.mark !== mark || !this.#readers.has(reader)) return;
    reader.ping = undefined;
    reader.unacknowledged -= ping.bytes;
    this.#bytes -= ping.bytes;
    this.#unpinged += reader.unacknowledged;
  }

  /**
   * The first deadline for the answer to a Ping; zero if no answer is pending, or while the total
   * is within the limit.
   */
  get due(): number {
    if (this.#bytes <= this.#room) return 0;
    let first = 0;
    for (const { ping } of this.#readers) if (ping && (first === 0 || ping.at + answerMillis < first)) first = ping.at + answerMillis;
    return first;
  }

  /**
   * Yields the readers that have not answered a Ping in time, those with the most bytes first,
   * while the total exceeds the limit.
   */
  *overdue(now: number): Generator<R, void, void> {
    for (const reader of most([...this.#readers].filter(({ ping }) => ping && ping.at + answerMillis <= now))) {
      if (this.#bytes <= this.#room) return;
      yield reader;
    }
  }

  /**
   * The reader to close when there is no time left for a Ping. It is the one with the most
   * unacknowledged bytes, if possible among those with an unanswered Ping.
   */
  get slowest(): R | undefined {
    const [pinged] = most([...this.#readers].filter(({ ping }) => ping));
    return pinged ?? most([...this.#readers])[0];
  }
}

function most<R extends Account>(readers: R[]): R[] {
  return readers.sort((a, b) => b.unacknowledged - a.unacknowledged);
}

/** Returns 52 random bits, which a number represents exactly. */
function randomMark(): number {
  const [low, high] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  return (high >>> 12) * 2 ** 32 + low;
}
