import type { MemberEvents, Seat } from "./engine.js";
import { internalError, messageOf, type WatchglassError } from "./errors.js";

// How a page and the worker with the engine talk. Frames are transferred, not
// copied. An epoch counts the engine's restarts: commands of an older one are
// meant for an engine that is gone.

/** From a page to the worker. */
export type ToWorker =
  | {
      op: "attach";
      url: string;
      /** Who the page's user is; see `identity` in ConnectOptions. */
      identity: string;
      wasm: string | BufferSource | WebAssembly.Module | undefined;
      maxBytes: number | undefined;
      maxHistory: number | undefined;
      kubernetes: boolean | undefined;
      /** A lock that is held for as long as the page lives; empty where there are no locks. */
      lock: string;
      /** The number to have again, for a page that lost its worker. */
      member: number | undefined;
      /** The token, for a page whose token never changes; the worker does not ask for it then. */
      token: string | undefined;
    }
  | { op: "frames"; epoch: number; frames: Uint8Array<ArrayBuffer> }
  | { op: "token"; request: number; token: string }
  | { op: "no token"; request: number; message: string }
  /** Asks for a "pong", and tells a worker without locks that the page is alive. */
  | { op: "ping" }
  | { op: "leave" };

/** From the worker to a page. */
export type ToPage =
  | { op: "pong" }
  | {
      op: "attached";
      member: number;
      /** A lock that is held for as long as the worker lives; empty where there are no locks. */
      lock: string;
    }
  | { op: "frames"; frames: Uint8Array<ArrayBuffer> }
  | { op: "restarted"; epoch: number; message: string }
  | { op: "failed"; message: string }
  | { op: "token?"; request: number };

/** Either end of the pipe. */
export interface Port<In, Out> {
  postMessage(message: Out, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<In>) => void) | null;
}

/** A worker as a page sees it. */
export interface WorkerPort extends Port<ToPage, ToWorker> {
  /** Called when the script cannot be loaded. */
  onfailure: ((message: string) => void) | null;
  close(): void;
}

export interface PortOptions {
  url: string;
  identity: string;
  wasm: string | BufferSource | WebAssembly.Module | undefined;
  maxBytes: number | undefined;
  maxHistory: number | undefined;
  kubernetes: boolean | undefined;
  /** The token, where it never changes. */
  token: string | undefined;
  /** Ways to start a worker, in order of preference. The next one is tried when a worker cannot be loaded or does not answer. */
  workers: readonly WorkerCandidate[];
  /** How often the page pings the worker. A worker that misses {@link missedPings} in a row is replaced. Default 5000. */
  pingMillis?: number;
}

export interface WorkerCandidate {
  /** Other pages use the same worker. A shared worker that stopped answering cannot be restarted, so it is not tried again. */
  shared: boolean;
  start(): WorkerPort;
}

const defaultPingMillis = 5_000;

/** A worker is silent after this many pings without any message from it. Browsers hold back the timers of hidden pages, so pings are counted, not time. */
const missedPings = 3;

/** Attaches to the engine in a worker. When the worker dies or stops answering, attaches to that of a new one. */
export async function attachWorker(options: PortOptions, events: MemberEvents): Promise<Seat> {
  const page = await holdLock();
  const seat = new WorkerSeat(options, events, page);
  return seat.sit();
}

/** A worker that cannot be used: another one may do. */
class WorkerFailure extends Error {}

class WorkerSeat implements Seat {
  readonly #options: PortOptions;
  readonly #events: MemberEvents;
  readonly #page: Lock;
  #port: WorkerPort | undefined;
  #pings: ReturnType<typeof setInterval> | undefined;
  #sharedFailed = false;
  #epoch = 0;
  #member: number | undefined;
  #left = false;

  constructor(options: PortOptions, events: MemberEvents, page: Lock) {
    this.#options = options;
    this.#events = events;
    this.#page = page;
  }

  get member(): number {
    return this.#member!;
  }

  send(frames: Uint8Array<ArrayBuffer>): void {
    this.#post({ op: "frames", epoch: this.#epoch, frames }, [frames.buffer]);
  }

  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#post({ op: "leave" });
    this.#drop();
    this.#page.release();
  }

  /** Starts a worker and attaches to it. Rejects with a WatchglassError when none can be used. */
  async sit(): Promise<Seat> {
    let failure = new WorkerFailure("there is no way to start one");
    for (const { shared, start } of this.#options.workers) {
      if (this.#left) break;
      if (shared && this.#sharedFailed) continue;
      try {
        await this.#attach(start);
        return this;
      } catch (error) {
        this.#drop();
        if (!(error instanceof WorkerFailure)) throw this.#fail(messageOf(error));
        failure = error;
      }
    }
    throw this.#fail(`the worker cannot be started: ${failure.message}. Bundlers that do not find worker.js need its location as the "workerURL" option; for Vite, set optimizeDeps: { exclude: ["watchglass"] }`);
  }

  #attach(start: () => WorkerPort): Promise<void> {
    return new Promise((attached, reject) => {
      try {
        const port = start();
        this.#port = port;
        this.#epoch = 0;
        port.onfailure = (message) => reject(new WorkerFailure(message));
        const silent = this.#watchSilence(port, reject);
        port.onmessage = ({ data }) => {
          if (this.#left || this.#port !== port) return;
          silent.heard();
          this.#receive(port, data, attached, reject);
        };
        const { url, identity, wasm, maxBytes, maxHistory, kubernetes, token } = this.#options;
        this.#post({ op: "attach", url, identity, wasm, maxBytes, maxHistory, kubernetes, lock: this.#page.name, member: this.#member, token });
      } catch (error) {
        reject(new WorkerFailure(messageOf(error)));
      }
    });
  }

  #receive(port: WorkerPort, data: ToPage, attached: () => void, reject: (error: Error) => void): void {
    switch (data.op) {
      case "attached":
        this.#member = data.member;
        port.onfailure = null; // a running worker reports its errors itself
        if (data.lock) onRelease(data.lock, () => this.#replace(port, "the worker ended"));
        return attached();
      case "frames":
        return this.#events.frames(data.frames);
      case "restarted":
        this.#epoch = data.epoch;
        return this.#events.restarted(data.message);
      case "failed":
        reject(internalError(data.message)); // no effect once attached
        return void (port.onfailure || this.#fail(data.message));
      case "token?":
        return void this.#token(data.request);
    }
  }

  /** Pings the worker. One that is silent while the page attaches is given up; a silent one after that is replaced. */
  #watchSilence(port: WorkerPort, reject: (error: Error) => void): { heard(): void } {
    const period = this.#options.pingMillis ?? defaultPingMillis;
    let missed = 0;
    clearInterval(this.#pings);
    this.#pings = setInterval(() => {
      if (this.#port !== port) return;
      if (missed++ < missedPings) return this.#post({ op: "ping" });
      const message = `the worker has not answered for ${Math.round((missedPings * period) / 1000)} s`;
      this.#sharedFailed = true;
      if (port.onfailure) return reject(new WorkerFailure(message));
      this.#events.silent?.(message);
      this.#replace(port, message);
    }, period);
    return { heard: () => void (missed = 0) };
  }

  /** Attaches to a new worker in the place of one that died or is silent. */
  #replace(port: WorkerPort, why: string): void {
    if (this.#left || this.#port !== port) return;
    this.#drop();
    this.sit().then(
      () => this.#events.restarted(why),
      () => {}, // reported through failed
    );
  }

  #fail(message: string): WatchglassError {
    if (!this.#left) this.#events.failed(message);
    this.leave();
    return internalError(message);
  }

  #drop(): void {
    clearInterval(this.#pings);
    this.#port?.close();
    this.#port = undefined;
  }

  async #token(request: number): Promise<void> {
    const port = this.#port;
    let answer: ToWorker;
    try {
      answer = { op: "token", request, token: await this.#events.token() };
    } catch (error) {
      answer = { op: "no token", request, message: messageOf(error) };
    }
    if (this.#port === port && !this.#left) this.#post(answer);
  }

  #post(message: ToWorker, transfer: Transferable[] = []): void {
    this.#port?.postMessage(message, transfer);
  }
}

/** A name that is taken for as long as this thread lives and does not give it back. */
export interface Lock {
  /** Empty where there are no locks, as on pages that are not secure contexts. */
  readonly name: string;
  release(): void;
}

const locks = (): LockManager | undefined => (typeof navigator === "object" ? navigator.locks : undefined);

const noLock: Lock = { name: "", release() {} };

/** Takes a lock under a new name. Where locks are missing or forbidden, the lock has no name. */
export function holdLock(): Promise<Lock> {
  const manager = locks();
  if (!manager) return Promise.resolve(noLock);
  const random = crypto.getRandomValues(new Uint32Array(4));
  const name = `watchglass-${[...random].map((n) => n.toString(36)).join("-")}`;
  return new Promise((resolve) => {
    // A sandboxed frame has the API and may not use it.
    manager.request(name, () => new Promise<void>((release) => resolve({ name, release }))).catch(() => resolve(noLock));
  });
}

/** Calls a function once the holder of a lock is gone or has given it back. */
export function onRelease(name: string, act: () => void): void {
  locks()
    ?.request(name, act)
    .catch(() => {}); // a page that may not use locks relies on pings
}
