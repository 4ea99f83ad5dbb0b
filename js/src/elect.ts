// In browsers without shared workers, the pages of an origin share a dedicated worker. A Web Lock
// elects the page that runs this worker. That page reaches the worker through a message channel,
// and the other pages through broadcast channels, because ports cannot be sent to other pages. When
// the lock is released, the next page in the lock's queue starts a worker. Pages attached to the
// old worker then attach again.

import { messageOf } from "./errors.js";
import type { FromElected, Port, ToElected, ToPage, ToWorker, WorkerCandidate, WorkerPort } from "./port.js";

/**
 * The interval at which a page repeats its request to join until the worker responds, in
 * milliseconds. A request is lost if the worker or its page ends before the request arrives.
 */
const joinMillis = 2_500;
/**
 * The page that runs the worker is replaced after this many unanswered attempts to join. Browsers
 * freeze pages in the background, and a frozen page keeps the lock.
 */
const maxJoins = 4;
/**
 * How long a page stays in the election without ports, in milliseconds. A page that attaches again
 * within this time keeps its place in the election and its worker.
 */
const lingerMillis = 1_000;

interface Pipe extends Port<ToPage, ToWorker> {
  close(): void;
}

const elections = new Map<string, Election>();

/**
 * Returns a port to the worker that all pages share under a name. Starts the worker if this page is
 * elected. Throws if the browser cannot elect pages.
 */
export function elect(name: string, start: WorkerCandidate["start"]): WorkerPort {
  if (!navigator.locks || typeof BroadcastChannel !== "function") throw new Error("this page cannot share workers");
  let election = elections.get(name);
  if (!election) elections.set(name, (election = new Election(name, start)));
  return election.join();
}

/** One page's participation in the elections for a worker. */
class Election {
  readonly #name: string;
  readonly #start: WorkerCandidate["start"];
  readonly #channel: BroadcastChannel;
  readonly #ports = new Set<ElectedPort>();
  readonly #timer = setInterval(() => this.#joinAgain(), joinMillis);
  readonly #freeze = (): void => {
    this.#frozen = true;
    this.#withdraw?.abort(); // a frozen page could not start the worker
    this.#withdraw = undefined;
    if (this.#pages > this.#ports.size) this.#stepDown();
  };
  readonly #resume = (): void => {
    this.#frozen = false;
    this.#campaign();
  };
  /**
   * Withdraws this page from the queue of the lock. Undefined if the page is elected or not in
   * the queue.
   */
  #withdraw: AbortController | undefined;
  /** The worker and the function that releases the lock, if this page is elected. */
  #worker: WorkerPort | undefined;
  #release: (() => void) | undefined;
  /** Whether the worker was started and has not responded yet. */
  #starting = false;
  /** The number of pages that use the worker, as the worker last reported. */
  #pages = 0;
  #frozen = false;
  #linger: ReturnType<typeof setTimeout> | undefined;

  constructor(name: string, start: WorkerCandidate["start"]) {
    this.#name = name;
    this.#start = start;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data: { op } }: MessageEvent<FromElected>) => {
      if (op !== "starting" && op !== "ready") return;
      this.#each((port) => {
        port.joins = 0;
        if (op === "ready") this.tell({ op: "join", id: port.id }); // a new worker does not know the pages of the previous one
      });
    };
    document.addEventListener("freeze", this.#freeze);
    document.addEventListener("resume", this.#resume);
  }

  join(): WorkerPort {
    const port = new ElectedPort(this);
    this.#ports.add(port);
    this.#connect(port);
    this.#campaign();
    return port;
  }

  leave(port: ElectedPort): void {
    if (!this.#ports.delete(port)) return;
    this.tell({ op: "left", id: port.id });
    this.#endIfUnused();
  }

  /** Sends a message to the worker, in this page or in another one. */
  tell(message: ToElected, transfer: Transferable[] = []): void {
    if (this.#worker) this.#worker.postMessage(message as unknown as ToWorker, transfer);
    else this.#channel.postMessage(message);
  }

  #connect(port: ElectedPort): void {
    if (this.#worker) {
      const { port1, port2 } = new MessageChannel();
      port.use(port1);
      this.tell({ op: "join", id: port.id }, [port2]);
    } else {
      port.use(new BroadcastChannel(`${this.#name} ${port.id}`) as Pipe);
      this.tell({ op: "join", id: port.id });
    }
  }

  /**
   * Joins the queue for the lock. With `steal`, takes the lock from a page that does not respond.
   */
  #campaign(steal = false): void {
    if (this.#release || this.#frozen || this.#ports.size === 0 || (this.#withdraw && !steal)) return;
    this.#withdraw?.abort();
    const withdraw = (this.#withdraw = new AbortController());
    const { signal } = withdraw;
    const hold = (): Promise<void> => new Promise((release) => this.#lead(release));
    // The request rejects when it is withdrawn, and when another page takes the lock.
    navigator.locks.request(this.#name, steal ? { steal } : { signal }, hold).catch((error: unknown) => {
      if (this.#withdraw === withdraw) this.#withdraw = undefined;
      if (signal.aborted) return;
      if ((error as DOMException).name === "AbortError") this.#stepDown();
      else this.#fail(messageOf(error)); // in a sandboxed frame, the API exists and requests are rejected
    });
  }

  /** Starts the worker for all pages. Called when this page has acquired the lock. */
  async #lead(release: () => void): Promise<void> {
    this.#withdraw = undefined;
    this.#release = release;
    this.#starting = true;
    this.#channel.postMessage({ op: "starting" } satisfies FromElected);
    const current = (): boolean => this.#release === release;
    try {
      const worker = await this.#start();
      if (!current()) return worker.close();
      this.#worker = worker;
      worker.onfailure = (message) => current() && this.#fail(message);
      worker.onmessage = ({ data }) => {
        worker.onfailure = null; // a running worker reports its own errors
        this.#starting = false;
        const { op, pages = 0 } = data as unknown as Partial<FromElected & { op: "pages" }>;
        if (!current() || op !== "pages") return;
        this.#pages = pages;
        this.#endIfUnused();
      };
      worker.postMessage({ op: "lead", name: this.#name } satisfies ToElected as unknown as ToWorker, []);
      this.#each((port) => this.#connect(port));
      this.#endIfUnused();
    } catch (error) {
      if (current()) this.#fail(messageOf(error));
    }
  }

  /**
   * Ends the worker, and releases the lock, so that another page starts a worker. This page returns
   * to the end of the queue.
   */
  #stepDown(): void {
    const [worker, release] = [this.#worker, this.#release];
    this.#worker = this.#release = undefined;
    this.#starting = false;
    this.#pages = 0;
    worker?.close();
    release?.();
    if (!release) return;
    if (worker) this.#each((port) => this.#connect(port));
    this.#campaign();
  }

  /** Reports to all ports that the worker cannot be started, and ends their participation. */
  #fail(message: string): void {
    for (const port of [...this.#ports]) {
      port.onfailure?.(message);
      this.leave(port);
    }
    this.#stepDown();
  }

  /** After `lingerMillis` without use, ends the worker and this page's participation. */
  #endIfUnused(): void {
    clearTimeout(this.#linger);
    if (!this.#used) this.#linger = setTimeout(() => this.#used || this.#end(), lingerMillis);
  }

  get #used(): boolean {
    return this.#ports.size > 0 || this.#pages > 0;
  }

  #end(): void {
    elections.delete(this.#name);
    this.#withdraw?.abort();
    this.#stepDown();
    clearInterval(this.#timer);
    this.#channel.close();
    document.removeEventListener("freeze", this.#freeze);
    document.removeEventListener("resume", this.#resume);
  }

  #joinAgain(): void {
    if (this.#starting) return this.#channel.postMessage({ op: "starting" } satisfies FromElected);
    let silent = false;
    this.#each((port) => {
      silent ||= ++port.joins > maxJoins;
      if (this.#worker === undefined) this.tell({ op: "join", id: port.id });
    });
    if (!silent || this.#frozen) return;
    for (const port of this.#ports) port.joins = 0;
    if (this.#release) this.#stepDown();
    else this.#campaign(true);
  }

  /** Calls a function for each port that is not attached. */
  #each(act: (port: ElectedPort) => void): void {
    for (const port of [...this.#ports]) if (!port.attached) act(port);
  }
}

/**
 * A page's end of the channel to the worker. Until the page is attached, the port repeats its
 * messages to each worker that it joins.
 */
class ElectedPort implements WorkerPort {
  readonly id: string = crypto.randomUUID();
  readonly #election: Election;
  #pipe: Pipe | undefined;
  /** The messages since the start; undefined once the page is attached. */
  #first: ToWorker[] | undefined = [];
  #joined = false;
  /** The number of attempts to join since the last response. */
  joins = 0;
  onmessage: ((event: MessageEvent<ToPage>) => void) | null = null;
  onfailure: ((message: string) => void) | null = null;

  constructor(election: Election) {
    this.#election = election;
  }

  get attached(): boolean {
    return this.#first === undefined;
  }

  /** Replaces the pipe. Messages are sent only after the worker responds on the new pipe. */
  use(pipe: Pipe): void {
    this.#pipe?.close();
    this.#pipe = pipe;
    this.#joined = false;
    pipe.onmessage = (event) => {
      this.joins = 0;
      if (event.data.op === "joined") {
        this.#joined = true;
        for (const message of this.#first ?? []) pipe.postMessage(message, []);
      }
      if (event.data.op === "attached") this.#first = undefined;
      this.onmessage?.(event);
    };
  }

  postMessage(message: ToWorker, transfer: Transferable[]): void {
    this.#first?.push(message);
    if (this.#joined) this.#pipe?.postMessage(message, this.#first ? [] : transfer);
  }

  close(): void {
    this.#election.leave(this);
    this.#pipe?.close();
  }
}
