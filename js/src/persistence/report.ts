// The reports of engines about their stored states, for inspectors on the same origin. Reports
// contain strings, so they cannot be part of the statistics, which are numbers.

/** The last restore of a collection. */
export interface Restore {
  /** The scope of the collection, as in {@link Stored.scope}. */
  scope: string;
  /** The time of the restore, in milliseconds since the epoch. */
  time: number;
  /** Why the state was discarded; undefined if it was restored. */
  discarded?: string | undefined;
}

/** The report of one engine. */
export interface Report {
  /** A random ID that distinguishes the engines that send reports. */
  engine: string;
  /**
   * The owner of the engine's states, as in {@link Stored.owner}; empty if the engine never stored
   * anything.
   */
  owner: string;
  maxBytes: number;
  /** Why nothing is stored; undefined while states are stored. */
  off?: string | undefined;
  restores: readonly Restore[];
}

const channelName = "watchglass-persistence";
const question = "report";

/**
 * Sends a report to every inspector that requests one. Returns a function that stops the
 * reports.
 */
export function answerReports(report: () => Omit<Report, "engine">): () => void {
  // Node has no inspectors, and an open channel would keep the Node process running.
  if (typeof indexedDB !== "object" || typeof BroadcastChannel !== "function") return () => {};
  const engine = crypto.randomUUID();
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = ({ data }) => {
    if (data === question) channel.postMessage({ engine, ...report() } satisfies Report);
  };
  return () => channel.close();
}

let failure: string | undefined;

/**
 * Sends reports with the reason why an engine of this thread does not store states. Only the last
 * reason is reported.
 */
export function answerFailure(why: string): void {
  if (failure === undefined) answerReports(() => ({ owner: "", maxBytes: 0, off: failure, restores: [] }));
  failure = why;
}

/** An engine that leaves this number of requests unanswered is treated as ended. */
const missedRequests = 3;

/** The reports of all engines on this origin, in all pages and workers. */
export class Reports {
  readonly #channel = new BroadcastChannel(channelName);
  readonly #latest = new Map<string, { report: Report; request: number }>();
  #requests = 0;

  /** Creates an empty set of reports. Calls `changed` after each report that arrives. */
  constructor(changed: () => void) {
    this.#channel.onmessage = ({ data }: MessageEvent<Report | string>) => {
      if (typeof data === "string") return; // the request of another inspector
      this.#latest.set(data.engine, { report: data, request: this.#requests });
      changed();
    };
  }

  request(): void {
    this.#requests++;
    for (const [engine, { request }] of this.#latest) if (this.#requests - request > missedRequests) this.#latest.delete(engine);
    this.#channel.postMessage(question);
  }

  get all(): Report[] {
    return [...this.#latest.values()].map(({ report }) => report);
  }

  close(): void {
    this.#channel.close();
  }
}
