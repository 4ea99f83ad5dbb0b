import { internalError, messageOf, WatchglassError } from "./errors.js";
import { messagesPerAck, type MemberEvents, type Membership } from "./member.js";
import { randomName } from "./random.js";

// The messages between a page and the worker of its engine. Frames are transferred without a copy.
// The epoch counts the engine's restarts. The worker drops commands from an older epoch, because
// their IDs refer to resources of the previous engine.

/** Describes the engine that a page needs: its connection, user and options. */
export interface EngineRequest {
  url: string;
  /** The identity of the page's user; see `identity` in ConnectOptions. */
  identity: string;
  wasm: string | BufferSource | WebAssembly.Module | undefined;
  maxBytes?: number | undefined;
  maxHistory?: number | undefined;
  pauseMillis?: number | undefined;
  kubernetes?: boolean | undefined;
  persist?: boolean | { maxBytes?: number } | undefined;
  /** The token, if it never changes. The worker then does not request one. */
  token: string | undefined;
}

/** The messages from a page to the worker. */
export type ToWorker =
  | (EngineRequest & {
      op: "attach";
      /**
       * The name of a lock that the page holds while it exists, so that the worker notices when the
       * page ends. Empty if Web Locks are unavailable.
       */
      lock: string;
      /** The previous member number, for a page whose worker died. */
      member: number | undefined;
    })
  | { op: "frames"; epoch: number; frames: Uint8Array<ArrayBuffer> }
  | { op: "token"; request: number; token: string }
  | { op: "no token"; request: number; message: string }
  /**
   * Requests a "pong". Without Web Locks, the ping also shows the worker that the page still
   * exists.
   */
  | { op: "ping" }
  | { op: "hide"; hidden: boolean }
  /** Acknowledges {@link messagesPerAck} messages with frames. */
  | { op: "ack" }
  | { op: "leave" };

/** The messages from the worker to a page. */
export type ToPage =
  | { op: "pong" }
  /** The worker that pages share through an election has received the page's request to join. */
  | { op: "joined" }
  | {
      op: "attached";
      member: number;
      /**
       * The name of a lock that the worker holds while it exists, so that pages notice when the
       * worker ends. Empty if Web Locks are unavailable.
       */
      lock: string;
    }
  | { op: "frames"; frames: Uint8Array<ArrayBuffer> }
  | { op: "restarted"; epoch: number; message: string }
  | { op: "failed"; message: string }
  | { op: "token?"; request: number };

/**
 * The messages to a worker that pages share through an election. Only the elected page, which runs
 * the worker, sends "lead". That page posts its messages to the worker directly; other pages use a
 * broadcast channel.
 */
export type ToElected =
  | { op: "lead"; name: string }
  /**
   * A page asks to join, and waits on the channel with the given ID. The page repeats this message
   * until the worker responds.
   */
  | { op: "join"; id: string }
  | { op: "left"; id: string };

/**
 * The messages about a worker that pages share through an election. The elected page broadcasts
 * "starting", and the worker broadcasts "ready". The worker sends "pages", the number of its pages,
 * only to the elected page.
 */
export type FromElected = { op: "starting" } | { op: "ready" } | { op: "pages"; pages: number };

/** Either end of a message channel. */
export interface Port<In, Out> {
  postMessage(message: Out, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<In>) => void) | null;
}

/** The page's end of the channel to a worker. */
export interface WorkerPort extends Port<ToPage, ToWorker> {
  /** Called when the script of the worker cannot be loaded. */
  onfailure: ((message: string) => void) | null;
  close(): void;
}

export interface PortOptions extends EngineRequest {
  /**
   * The ways to start a worker, in order of preference. If a worker cannot be loaded or does not
   * respond, the page tries the next way.
   */
  workers: readonly WorkerCandidate[];
  /**
   * The interval between pings of the worker, in milliseconds. A worker that does not respond to
   * {@link missedPings} pings in a row is replaced. Default 5000.
   */
  pingMillis?: number;
}

export interface WorkerCandidate {
  /**
   * Whether other pages use the same worker. A shared worker that does not respond cannot
   * be restarted, so it is not tried again.
   */
  shared: boolean;
  start(): WorkerPort | Promise<WorkerPort>;
}

const defaultPingMillis = 5_000;

/**
 * A worker is unresponsive after this many pings without any message from it. The page
 * counts pings instead of time, because browsers throttle the timers of hidden pages.
 */
const missedPings = 3;

/**
 * Attaches to the engine in a worker, and returns the membership. If the worker later dies or does
 * not respond, the membership starts a new worker and attaches to the engine in that worker.
 */
export async function attachWorker(options: PortOptions, events: MemberEvents): Promise<Membership> {
  const page = await holdLock();
  const membership = new WorkerMembership(options, events, page);
  return membership.attach();
}

/**
 * The phases of a page's membership:
 *
 *     starting   --started-->   attaching   --attached-->  attached
 *     attaching  --failed-->    starting, with the next candidate
 *     attached   --silent or ended-->  starting, with the first candidate
 *     any        --no candidate left, engine failed, left-->  left
 */
type Phase = "starting" | "attaching" | "attached" | "left";

class WorkerMembership implements Membership {
  readonly #options: PortOptions;
  readonly #events: MemberEvents;
  readonly #page: Lock;
  #port: WorkerPort | undefined;
  #pings: ReturnType<typeof setInterval> | undefined;
  #sharedFailed = false;
  #epoch = 0;
  /** The number of messages with frames from the current worker. */
  #received = 0;
  #member: number | undefined;
  #phase: Phase = "starting";
  #hidden = false;

  constructor(options: PortOptions, events: MemberEvents, page: Lock) {
    this.#options = options;
    this.#events = events;
    this.#page = page;
  }

  get #left(): boolean {
    return this.#phase === "left";
  }

  get member(): number {
    return this.#member!;
  }

  send(frames: Uint8Array<ArrayBuffer>): void {
    this.#post({ op: "frames", epoch: this.#epoch, frames }, [frames.buffer]);
  }

  hide(hidden: boolean): void {
    this.#hidden = hidden;
    this.#post({ op: "hide", hidden });
  }

  leave(): void {
    this.#post({ op: "leave" });
    this.#drop("left");
    this.#page.release();
  }

  /**
   * Starts a worker and attaches to its engine. Rejects with a WatchglassError if no worker can be
   * used.
   */
  async attach(): Promise<Membership> {
    let failure = "this page cannot start workers";
    for (const { shared, start } of this.#options.workers) {
      if (this.#left) break;
      if (shared && this.#sharedFailed) continue;
      try {
        const port = await start();
        if (this.#left) port.close();
        else await this.#use(port);
        return this;
      } catch (error) {
        this.#drop("starting");
        failure = messageOf(error);
        if (error instanceof WatchglassError) throw this.#fail(failure); // the engine failed, not the worker
      }
    }
    throw this.#fail(`the worker cannot be started: ${failure}. Pass the location of worker.js as "workerURL"; for Vite, set optimizeDeps: { exclude: ["watchglass"] }`);
  }

  /**
   * Attaches to the engine of a worker. If the engine refuses the page, rejects with a
   * WatchglassError, because another worker would not help.
   */
  #use(port: WorkerPort): Promise<void> {
    return new Promise((attached, reject) => {
      this.#phase = "attaching";
      this.#port = port;
      this.#epoch = this.#received = 0;
      port.onfailure = (message) => reject(new Error(message));
      const silent = this.#watchSilence(port, reject);
      port.onmessage = ({ data }) => {
        if (this.#port !== port) return;
        silent.alive();
        this.#receive(port, data, attached, reject);
      };
      const { workers, ...request } = this.#options; // functions cannot be sent
      this.#post({ op: "attach", ...request, lock: this.#page.name, member: this.#member });
    });
  }

  #receive(port: WorkerPort, data: ToPage, attached: () => void, reject: (error: Error) => void): void {
    switch (data.op) {
      case "attached":
        this.#phase = "attached";
        this.#member = data.member;
        if (this.#hidden) this.hide(true);
        port.onfailure = null; // a running worker reports its own errors
        if (data.lock) onRelease(data.lock, () => this.#replace(port, "the worker ended"));
        return attached();
      case "frames":
        this.#events.frames(data.frames);
        if (++this.#received % messagesPerAck === 0) this.#post({ op: "ack" });
        return;
      case "restarted":
        this.#epoch = data.epoch;
        return this.#events.restarted(data.message);
      case "failed":
        return reject(this.#fail(data.message)); // reject has no effect once attached
      case "token?":
        return void this.#token(data.request);
    }
  }

  /**
   * Pings the worker. If it does not respond while the page attaches, the page tries the next
   * candidate. Once attached, the page replaces an unresponsive worker.
   */
  #watchSilence(port: WorkerPort, reject: (error: Error) => void): { alive(): void } {
    const period = this.#options.pingMillis ?? defaultPingMillis;
    let missed = 0;
    clearInterval(this.#pings);
    this.#pings = setInterval(() => {
      if (this.#port !== port) return;
      if (missed++ < missedPings) return this.#post({ op: "ping" });
      const message = `the worker has not responded for ${Math.round((missedPings * period) / 1000)} s`;
      this.#sharedFailed = true;
      if (this.#phase === "attaching") return reject(new Error(message));
      this.#events.silent?.(message);
      this.#replace(port, message);
    }, period);
    return { alive: () => void (missed = 0) };
  }

  /** Attaches to a new worker that replaces a dead or unresponsive one. */
  #replace(port: WorkerPort, why: string): void {
    if (this.#port !== port) return;
    this.#drop("starting");
    this.attach().then(
      () => this.#events.restarted(why),
      () => {}, // attach has reported the failure
    );
  }

  #fail(message: string): WatchglassError {
    if (!this.#left) this.#events.failed(message);
    this.leave();
    return internalError(message);
  }

  /** Abandons the worker. Unless the page has left, enters the given phase. */
  #drop(phase: Phase): void {
    if (!this.#left) this.#phase = phase;
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
    if (this.#port === port) this.#post(answer);
  }

  #post(message: ToWorker, transfer: Transferable[] = []): void {
    this.#port?.postMessage(message, transfer);
  }
}

/** A lock that is held until this thread ends or releases it. */
export interface Lock {
  /** Empty if Web Locks are unavailable, as on pages that are not secure contexts. */
  readonly name: string;
  release(): void;
}

const locks = (): LockManager | undefined => (typeof navigator === "object" ? navigator.locks : undefined);

const noLock: Lock = { name: "", release() {} };

/** Acquires a lock with a new name. The name is empty if locks are unavailable or forbidden. */
export function holdLock(): Promise<Lock> {
  const manager = locks();
  if (!manager) return Promise.resolve(noLock);
  const name = `watchglass-${randomName()}`;
  return new Promise((resolve) => {
    // In a sandboxed frame, the API exists and requests are rejected.
    manager.request(name, () => new Promise<void>((release) => resolve({ name, release }))).catch(() => resolve(noLock));
  });
}

/** Calls a function when the holder of a lock ends or releases it. */
export function onRelease(name: string, act: () => void): void {
  locks()
    ?.request(name, act)
    .catch(() => {}); // pages that cannot use locks rely on pings
}
