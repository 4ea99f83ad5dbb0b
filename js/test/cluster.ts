// Connects the real module to an in-memory cluster, for tests.
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { TestContext } from "node:test";
import { connect, createClient, type ConnectOptions, type Watchglass, type WatchglassClient } from "../src/index.js";
import { TestCluster, type ObjectInput } from "../src/testing.js";
import { turn } from "./fake.js";
import { built } from "./paths.js";

const module = built("watchglass.wasm");

/** The reason why tests with the module are skipped; false if they run. */
export const skip = existsSync(module) ? false : "build/watchglass.wasm is missing";

let compiled: Promise<WebAssembly.Module> | undefined;

/**
 * Returns the options to connect to a cluster with the module of this repository. The module is
 * compiled only once.
 */
export async function optionsOf(cluster: TestCluster): Promise<ConnectOptions> {
  const { compile } = await import("../src/guest.js");
  compiled ??= compile(pathToFileURL(module));
  return { ...cluster.options, wasm: await compiled };
}

export async function connected(t: TestContext, cluster: TestCluster, options: ConnectOptions = {}): Promise<Watchglass> {
  const wg = await connect(cluster.url, { ...(await optionsOf(cluster)), ...options });
  t.after(() => wg.close());
  return wg;
}

export async function clientOf(t: TestContext, cluster: TestCluster): Promise<WatchglassClient> {
  const client = createClient(cluster.url, await optionsOf(cluster));
  t.after(() => client.close());
  return client;
}

export const pod = (name: string, { namespace = "default", labels = { app: "web" } as Record<string, string>, phase = "Running" } = {}): ObjectInput => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, labels },
  status: { phase },
});

/**
 * Stops the clock and the timers of this thread for the rest of the test. Returns a function that
 * advances both, and waits until the due tasks have run.
 */
export function stopClock(t: TestContext): (millis: number) => Promise<void> {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.now() });
  t.mock.method(performance, "now", () => Date.now()); // the engine compares both clocks
  t.after(() => {
    t.mock.timers.tick(1000); // runs the calls that wait for the next frame, which all tests of a file share
    t.mock.timers.reset();
  });
  return async (millis) => {
    t.mock.timers.tick(millis);
    await turn();
  };
}

/** Resolves when `wanted` returns true. Calls `wanted` whenever the source changes. */
export function until(source: { subscribe(listener: () => void): () => void }, wanted: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = source.subscribe(look);
    function look(): void {
      if (!wanted()) return;
      queueMicrotask(() => stop());
      resolve();
    }
    look();
  });
}

/** A queue of messages. A test can wait for the next message. */
export class Recorder {
  readonly #messages: string[] = [];
  readonly #waiting: ((message: string) => void)[] = [];

  readonly add = (message: string): void => {
    const taker = this.#waiting.shift();
    if (taker) taker(message);
    else this.#messages.push(message);
  };

  /** Waits for the next message, removes it and returns it. */
  take(): Promise<string> {
    const message = this.#messages.shift();
    return message === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(message);
  }

  async takeAll(n: number): Promise<string[]> {
    const taken: string[] = [];
    while (taken.length < n) taken.push(await this.take());
    return taken;
  }

  /** Removes and returns all messages that have arrived so far. */
  drain(): string[] {
    return this.#messages.splice(0);
  }
}
