// What readers were sent and may not have taken yet. It waits in the memory of
// the isolate, and the platform does not tell how much does: a reader that stopped
// reading looks like one that has nothing to say. So a reader is asked with a
// Ping, which nobody can answer who has not read that far: its mark is random.
// That happens only where all of them together were sent so much that it matters.

/** A reader that was asked has this long to answer, where memory is short. */
const answerMillis = 10_000;

/** What may be sent beyond the room there is, before anybody can have answered. */
const graceBytes = 16 << 20;

export interface Ping {
  mark: number;
  /** Sent before it. */
  bytes: number;
  at: number;
}

/** What there is to know of one reader. */
export interface Owing {
  /** Bytes sent that it is not known to have taken. */
  unheard: number;
  /** That it has not answered. */
  ping: Ping | undefined;
}

/** That of all readers of an object. */
export class Backlog<R extends Owing> {
  readonly #readers = new Set<R>();
  #bytes = 0;
  /** Of these, those of readers that were not asked. */
  #unasked = 0;
  /** Bytes that there is memory for. */
  #room = Infinity;

  get bytes(): number {
    return this.#bytes;
  }

  set room(bytes: number) {
    this.#room = bytes;
  }

  add(reader: R): void {
    this.#readers.add(reader);
    this.#bytes += reader.unheard;
    if (!reader.ping) this.#unasked += reader.unheard;
  }

  delete(reader: R): void {
    if (!this.#readers.delete(reader)) return;
    this.#bytes -= reader.unheard;
    if (!reader.ping) this.#unasked -= reader.unheard;
  }

  /** Whether there is no time left to ask anybody: see {@link slowest}. */
  sent(reader: R, bytes: number): boolean {
    reader.unheard += bytes;
    this.#bytes += bytes;
    if (!reader.ping) this.#unasked += bytes;
    return this.#bytes > this.#room + graceBytes;
  }

  /** Asks those with the most, so that no more than a quarter of the room is with readers that were not. */
  *ask(now: number): Generator<[reader: R, mark: number], void, void> {
    if (this.#unasked <= this.#room / 2) return;
    for (const reader of most([...this.#readers].filter(({ ping }) => !ping))) {
      if (this.#unasked <= this.#room / 4) return;
      const mark = randomMark();
      reader.ping = { mark, bytes: reader.unheard, at: now };
      this.#unasked -= reader.unheard;
      yield [reader, mark];
    }
  }

  /** A reader says that it has come as far as a mark. */
  answered(reader: R, mark: number | bigint): void {
    const { ping } = reader;
    if (!ping || ping.mark !== mark || !this.#readers.has(reader)) return;
    reader.ping = undefined;
    reader.unheard -= ping.bytes;
    this.#bytes -= ping.bytes;
    this.#unasked += reader.unheard;
  }

  /** When the first of those that have not answered has to go; zero while there is room. */
  get due(): number {
    if (this.#bytes <= this.#room) return 0;
    let first = 0;
    for (const { ping } of this.#readers) if (ping && (first === 0 || ping.at + answerMillis < first)) first = ping.at + answerMillis;
    return first;
  }

  /** Those that have to go, with the most first, until there is room. */
  *overdue(now: number): Generator<R, void, void> {
    for (const reader of most([...this.#readers].filter(({ ping }) => ping && ping.at + answerMillis <= now))) {
      if (this.#bytes <= this.#room) return;
      yield reader;
    }
  }

  /** The one that has to go at once, where not even the time to ask is left: of those that were asked before, if there are any. */
  get slowest(): R | undefined {
    const [asked] = most([...this.#readers].filter(({ ping }) => ping));
    return asked ?? most([...this.#readers])[0];
  }
}

function most<R extends Owing>(readers: R[]): R[] {
  return readers.sort((a, b) => b.unheard - a.unheard);
}

/** 52 bits, which a number has without loss. */
function randomMark(): number {
  const [low, high] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  return (high >>> 12) * 2 ** 32 + low;
}
