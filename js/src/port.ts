import type { MemberEvents, Seat } from "./engine.js";
import { internalError, messageOf } from "./errors.js";

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
      kubernetes: boolean | undefined;
      /** A lock that is held for as long as the page lives; empty where there are no locks. */
      lock: string;
      /** The number to have again, for a page that lost its worker. */
      member: number | undefined;
    }
  | { op: "frames"; epoch: number; frames: Uint8Array<ArrayBuffer> }
  | { op: "token"; request: number; token: string }
  | { op: "no token"; request: number; message: string }
  | { op: "alive" }
  | { op: "leave" };

/** From the worker to a page. */
export type ToPage =
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
  kubernetes: boolean | undefined;
  /** Makes the worker, or joins it. */
  worker: () => WorkerPort;
}

/** Without locks a page says this often that it lives. */
const aliveMillis = 10_000;

/** Sits down at the engine in a worker, and again at that of a new worker when the worker dies. */
export async function attachWorker(options: PortOptions, events: MemberEvents): Promise<Seat> {
  const page = await holdLock();
  const seat = new WorkerSeat(options, events, page);
  return seat.sit();
}

class WorkerSeat implements Seat {
  readonly #options: PortOptions;
  readonly #events: MemberEvents;
  readonly #page: Lock;
  readonly #alive: ReturnType<typeof setInterval> | undefined;
  #port: WorkerPort | undefined;
  #epoch = 0;
  #member: number | undefined;
  #left = false;

  constructor(options: PortOptions, events: MemberEvents, page: Lock) {
    this.#options = options;
    this.#events = events;
    this.#page = page;
    if (!page.name) this.#alive = setInterval(() => this.#post({ op: "alive" }), aliveMillis);
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
    clearInterval(this.#alive);
    this.#post({ op: "leave" });
    this.#port?.close();
    this.#page.release();
  }

  sit(): Promise<Seat> {
    return new Promise((resolve, reject) => {
      const fail = (message: string): void => {
        reject(internalError(message));
        if (!this.#left) this.#events.failed(message);
        this.leave();
      };
      try {
        this.#attach(resolve, fail);
      } catch (error) {
        this.#port?.close();
        this.#port = undefined; // there is nobody to take leave of
        fail(`the worker cannot be started: ${messageOf(error)}`);
      }
    });
  }

  #attach(attached: (seat: Seat) => void, fail: (message: string) => void): void {
    const port = this.#options.worker();
    this.#port = port;
    this.#epoch = 0;
    port.onfailure = fail;
    port.onmessage = ({ data }) => {
      if (this.#left || this.#port !== port) return;
      switch (data.op) {
        case "attached":
          this.#member = data.member;
          port.onfailure = null; // a running worker reports its errors itself
          if (data.lock) onRelease(data.lock, () => this.#lost(port));
          return attached(this);
        case "frames":
          return this.#events.frames(data.frames);
        case "restarted":
          this.#epoch = data.epoch;
          return this.#events.restarted(data.message);
        case "failed":
          return fail(data.message);
        case "token?":
          return void this.#token(data.request);
      }
    };
    const { url, identity, wasm, maxBytes, kubernetes } = this.#options;
    this.#post({ op: "attach", url, identity, wasm, maxBytes, kubernetes, lock: this.#page.name, member: this.#member });
  }

  /** The worker died with the engine in it. */
  #lost(port: WorkerPort): void {
    if (this.#left || this.#port !== port) return;
    port.close();
    this.#port = undefined;
    this.sit().then(
      () => this.#events.restarted("the worker ended"),
      () => {}, // said by failed
    );
  }

  async #token(request: number): Promise<void> {
    const port = this.#port;
    let answer: ToWorker;
    try {
      answer = { op: "token", request, token: await this.#events.token() };
    } catch (error) {
      answer = { op: "no token", request, message: String(error) };
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

/** Takes a lock under a new name. */
export function holdLock(): Promise<Lock> {
  const manager = locks();
  if (!manager) return Promise.resolve({ name: "", release() {} });
  const random = crypto.getRandomValues(new Uint32Array(4));
  const name = `watchglass-${[...random].map((n) => n.toString(36)).join("-")}`;
  return new Promise((resolve, reject) => {
    manager.request(name, () => new Promise<void>((release) => resolve({ name, release }))).catch(reject);
  });
}

/** Calls a function once the holder of a lock is gone or has given it back. */
export function onRelease(name: string, act: () => void): void {
  void locks()?.request(name, act);
}
