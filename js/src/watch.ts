import { checkMatch, checkWord, selection, uint32 } from "./check.js";
import { statusError, unexpected, type Open, type OpenCollection } from "./engine-client.js";
import { WatchglassError } from "./errors.js";
import { toObject } from "./object.js";
import type { Opened, ResourceVersion, Status, WatchEnd, WatchEvent, WatchOptions } from "./types.js";
import { Match, Policy, Tristate, type MemberCommand } from "./wire/commands.js";
import { Flag } from "./wire/item.js";
import type { ChangeFrame, Delivery, WatchEventFrame } from "./wire/outputs.js";

const defaultCredit = 1000;

interface Waiter<T extends object> {
  resolve(result: IteratorResult<WatchEvent<T>>): void;
  reject(error: unknown): void;
}

/**
 * One loop over the events of a watch. The engine sends as many events as the credit allows, and
 * the loop grants more credit as it consumes events. A slow loop therefore queues a bounded number
 * of events.
 */
export class WatchIterator<T extends object> implements AsyncIterableIterator<WatchEvent<T>>, Open {
  readonly #collection: OpenCollection;
  readonly #options: WatchOptions;
  readonly #credit: number;
  readonly #id: number = -1;
  readonly #waiters: Waiter<T>[] = [];
  readonly #abort = (): void => this.#close({ reason: "Closed", error: this.#options.signal?.reason });
  #events: WatchEventFrame[] = [];
  #next = 0;
  #consumed = 0;
  /** Once set, no more events arrive. An error is thrown once, after the queued events. */
  #end: { reason: WatchEnd; error?: unknown } | undefined;
  /** The resource version up to which all events were received; empty if none is known. */
  #resumeFrom: ResourceVersion;
  #received = false;

  constructor(collection: OpenCollection, options: WatchOptions) {
    this.#collection = collection;
    this.#options = { ...options };
    this.#credit = Math.max(1, uint32("credit", options.credit ?? defaultCredit));
    uint32("timeoutSeconds", options.timeoutSeconds ?? 0);
    checkMatch(options.resourceVersionMatch);
    checkWord("policy", options.policy ?? "stall", Object.keys(Policy));
    // A resourceVersion of "0" or undefined means "any state". The watch then begins with initial
    // events in arbitrary order, so it can resume only after a bookmark.
    this.#resumeFrom = options.sendInitialEvents || options.resourceVersion === "0" ? "" : (options.resourceVersion ?? "");
    if (options.signal?.aborted) {
      this.#end = { reason: "Closed", error: options.signal.reason };
      return;
    }
    collection.check();
    this.#id = collection.client.register(this);
    collection.adopt(this);
    options.signal?.addEventListener("abort", this.#abort);
    this.#open();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Why the watch ended; undefined until all events have been consumed. */
  get end(): WatchEnd | undefined {
    return this.#next === this.#events.length ? this.#end?.reason : undefined;
  }

  next(): Promise<IteratorResult<WatchEvent<T>>> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#serve();
    });
  }

  return(): Promise<IteratorResult<WatchEvent<T>>> {
    this.#close({ reason: "Closed" });
    this.#serve();
    return Promise.resolve({ done: true, value: undefined });
  }

  receive(output: Delivery): void {
    switch (output.type) {
      case "WatchEvents":
        for (const event of output.events) this.#take(event);
        return this.#serve();
      case "WatchClosed":
        return this.#finish(output.end, output.status && new WatchglassError(output.status));
      case "Rejected":
        return this.#finish("Refused", statusError(output.status));
    }
    throw unexpected(output);
  }

  describe(): Opened {
    return { type: "watch", id: this.#id, of: this.#collection.id, options: this.#options, queued: this.#events.length - this.#next };
  }

  restarted(status: Status): void {
    if (!this.#received) return this.#open();
    if (this.#resumeFrom) {
      // The new engine continues the watch or refuses it. Events that are queued
      // here still count against the credit.
      const left = this.#credit - this.#consumed - (this.#events.length - this.#next);
      return this.#open({ resourceVersion: this.#resumeFrom, match: Match.unset, sendInitialEvents: Tristate.unset, credit: Math.max(1, left) });
    }
    // The initial events were incomplete, so no version describes the received
    // state.
    const gone = { code: 410, reason: "Expired", cause: "EngineReplaced", message: `${status.message}; list or watch again` };
    this.#finish("EngineReplaced", new WatchglassError(gone));
  }

  closed(error: WatchglassError): void {
    this.#finish("CollectionClosed", error);
  }

  /** Ends the watch after the loop has read the queued events. Later calls have no effect. */
  #finish(reason: WatchEnd, error: WatchglassError | undefined): void {
    this.#release();
    this.#end ??= { reason, error };
    this.#serve();
  }

  #open(resumed: Partial<MemberCommand & { type: "OpenWatch" }> = {}): void {
    const { resourceVersion = "", resourceVersionMatch, sendInitialEvents: initial, ...o } = this.#options;
    this.#collection.client.send({
      type: "OpenWatch",
      watch: this.#id,
      collection: this.#collection.id,
      ...selection(o),
      resourceVersion,
      // Kubernetes requires NotOlderThan if sendInitialEvents is set.
      match: Match[resourceVersionMatch ?? (initial === undefined ? "unset" : "NotOlderThan")],
      sendInitialEvents: Tristate[`${initial ?? "unset"}`],
      bookmarks: o.allowWatchBookmarks ?? false,
      timeoutSeconds: o.timeoutSeconds ?? 0,
      bodies: !this.#collection.metadataOnly,
      policy: Policy[o.policy ?? "stall"],
      credit: this.#credit,
      previous: o.previous ?? false,
      ...resumed,
    });
  }

  #take(event: WatchEventFrame): void {
    this.#received = true;
    this.#events.push(event);
    if (event.type === "BOOKMARK") this.#resumeFrom = event.resourceVersion;
    else if (this.#resumeFrom) this.#resumeFrom = event.item.resourceVersion;
  }

  /** Ends the watch and drops the queued events. */
  #close(end: { reason: WatchEnd; error?: unknown }): void {
    if (this.#id >= 0 && !this.#end) this.#collection.client.send({ type: "CloseWatch", watch: this.#id });
    this.#release();
    this.#end = this.end ? { reason: this.end } : end;
    this.#next = this.#events.length = 0;
    this.#serve();
  }

  #release(): void {
    this.#options.signal?.removeEventListener("abort", this.#abort);
    this.#collection.client.release(this.#id);
    this.#collection.disown(this);
  }

  #serve(): void {
    while (this.#waiters.length > 0) {
      const event = this.#events[this.#next];
      if (event) {
        this.#next++;
        this.#waiters.shift()!.resolve({ done: false, value: this.#toEvent(event) });
        this.#consume();
      } else if (this.#end) {
        const { reason, error } = this.#end;
        this.#end = { reason };
        if (error === undefined) this.#waiters.shift()!.resolve({ done: true, value: undefined });
        else this.#waiters.shift()!.reject(error);
      } else {
        return;
      }
    }
  }

  #consume(): void {
    if (this.#next === this.#events.length) {
      this.#next = this.#events.length = 0;
    }
    this.#consumed++;
    // Granting half of the credit at a time needs few messages and avoids stalls.
    if (this.#end || this.#consumed < this.#credit / 2) return;
    this.#collection.client.send({ type: "GrantWatch", watch: this.#id, events: this.#consumed });
    this.#consumed = 0;
  }

  #toEvent(event: WatchEventFrame): WatchEvent<T> {
    if (event.type !== "BOOKMARK") return this.#change(event);
    const initialEventsEnd = (event.flags & Flag.endOfInitialEvents) !== 0;
    return { type: event.type, resourceVersion: event.resourceVersion, initialEventsEnd };
  }

  /**
   * Returns the event for a change. The objects of the event are parsed when they are first read.
   */
  #change({ type, item, previous }: ChangeFrame): WatchEvent<T> {
    const collection = this.#collection;
    let object: T | undefined;
    let before: T | undefined;
    return {
      type,
      get object(): T {
        return (object ??= toObject<T>(item, collection.schema));
      },
      get previous(): T | undefined {
        return previous && (before ??= toObject<T>(previous, collection.schema));
      },
      ...((item.flags & Flag.finalStateUnknown) !== 0 && { finalStateUnknown: true }),
    };
  }
}
