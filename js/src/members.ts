import { internalError } from "./errors.js";
import type { MemberEvents } from "./member.js";
import { Reader } from "./wire/codec.js";
import { commandTypes } from "./wire/driver-commands.js";

/** A program that shares the engine, and the collections and handles that it has open. */
export interface Member {
  readonly events: MemberEvents;
  readonly collections: Set<number>;
  readonly handles: Set<number>;
  hidden: boolean;
}

/** The members of an engine by number, in the order in which they joined. */
export class Members {
  readonly #byNumber = new Map<number, Member>();
  #lastToken: string | undefined;

  get size(): number {
    return this.#byNumber.size;
  }

  /** Whether there are members and all of them are hidden. */
  get hidden(): boolean {
    return this.size > 0 && this.list().every((member) => member.hidden);
  }

  get(number: number): Member | undefined {
    return this.#byNumber.get(number);
  }

  /** Returns a copy of the list of members, because their callbacks may add and remove members. */
  list(): Member[] {
    return [...this.#byNumber.values()];
  }

  /**
   * Adds a member, and returns its number. `wanted` is the number that the member had in a previous
   * engine, if any. Throws if that number is in use.
   */
  add(events: MemberEvents, wanted?: number): number {
    const number = wanted ?? this.#newNumber();
    if (this.#byNumber.has(number)) throw internalError("the member number is in use; reload the page");
    this.#byNumber.set(number, { events, collections: new Set(), handles: new Set(), hidden: false });
    return number;
  }

  remove(number: number): void {
    this.#byNumber.delete(number);
  }

  clear(): void {
    this.#byNumber.clear();
  }

  /**
   * Requests a token from the members, the newest member first, because its token is the freshest.
   * A member that does not respond in time, such as a page that shows a dialog, is skipped. If no
   * member responds, returns the last known token, or rejects if there is none.
   */
  async token(timeoutMillis: number): Promise<string> {
    let failure: unknown = new Error("no page is connected");
    for (const { events } of this.list().reverse()) {
      const answer = Promise.resolve(events.token());
      answer.then((token) => (this.#lastToken = token)).catch(() => {}); // a late token serves the next connection
      try {
        return await within(answer, timeoutMillis);
      } catch (error) {
        failure = error;
      }
    }
    if (this.#lastToken !== undefined) return this.#lastToken;
    throw failure;
  }

  /**
   * Returns an unused random number. Numbers are random so that a member whose worker died can
   * usually reuse its number in a new worker.
   */
  #newNumber(): number {
    if (this.size > 1000) throw internalError("more than a thousand clients share this engine");
    for (;;) {
      const number = crypto.getRandomValues(new Uint16Array(1))[0]!;
      if (number > 0 && !this.#byNumber.has(number)) return number;
    }
  }
}

/**
 * Records which collections and handles a command opens or closes, so that they can be closed when
 * the member leaves.
 */
export function noteOpen({ collections, handles }: Member, type: number, payload: Uint8Array): void {
  if (type === commandTypes.OpenCollection) collections.add(new Reader(payload, "OpenCollection").uint32());
  if (type === commandTypes.CloseCollection) collections.delete(new Reader(payload, "CloseCollection").uint32());
  if (type === commandTypes.AcquireObject) handles.add(new Reader(payload, "AcquireObject").uint32());
  if (type === commandTypes.ReleaseObject) handles.delete(new Reader(payload, "ReleaseObject").uint32());
}

/** Settles with the promise, or rejects after the timeout. */
function within(answer: Promise<string>, millis: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`a page did not return a token within ${millis / 1000} s`)), millis);
    answer.then(resolve, reject).finally(() => clearTimeout(late));
  });
}
