import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { WebSocket as Socket } from "ws";
import { connect, type Collection, type CollectionStatus, type Watchglass } from "../src/index.js";
import { TestConnector, type Feed } from "./connector.js";
import { built, packaged } from "./paths.js";
import { serveWorkerd, type Workerd } from "./workerd.js";

export const everything = { resources: ["*"], namespaces: ["*"], expires: 4e9, cluster: "test", user: "tester", feed: false };

/** An edge in workerd, with a folder that outlives it. */
export class Edge {
  readonly #t: TestContext;
  readonly #objects = mkdtempSync(join(tmpdir(), "watchglass-edge-"));
  #workerd!: Workerd;

  private constructor(t: TestContext) {
    this.#t = t;
  }

  static async start(t: TestContext): Promise<Edge> {
    const edge = new Edge(t);
    await edge.serve();
    t.after(async () => {
      await edge.#workerd.kill();
      rmSync(edge.#objects, { recursive: true });
    });
    return edge;
  }

  async serve(): Promise<void> {
    this.#workerd = await serveWorkerd(packaged("test", "edge", "config.capnp"), `--directory-path=objects=${this.#objects}`);
  }

  get pid(): number {
    return this.#workerd.pid;
  }

  async restart(): Promise<void> {
    await this.#workerd.kill();
    await this.serve();
  }

  /** Waits until the objects that nobody stirs are out of memory: workerd gives them ten seconds. They tell nobody, and asking would stir them. */
  async evicted(): Promise<void> {
    await setTimeout(12_000);
  }

  /** Asks until the answer is as wanted. */
  async until(path: string, wanted: (body: any) => boolean): Promise<any> {
    for (;;) {
      const { body } = await this.get(path);
      if (wanted(body)) return body;
      await setTimeout(50);
    }
  }

  url(path: string, scheme = "http"): string {
    return `${scheme}://${this.#workerd.address}/${path}`;
  }

  async get(path: string, grant: object | null = everything): Promise<{ code: number; body: any }> {
    const response = await fetch(this.url(path), { headers: grant ? { "x-watchglass-grant": JSON.stringify(grant) } : {} });
    return { code: response.status, body: await response.json() };
  }

  feed(connector: TestConnector, { object = "one", grant = { ...everything, feed: true } as object, source = connector.source, resources = "v1/pods", replace = false } = {}): Promise<Feed> {
    const query = new URLSearchParams({ resources, source, ...(replace && { replace: "true" }) });
    return connector.feed(this.url(`${object}/feed?${query}`, "ws"), { "x-watchglass-grant": JSON.stringify(grant) });
  }

  async read({ object = "one", grant = everything as object } = {}): Promise<Watchglass> {
    class Granted extends Socket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols, { headers: { "x-watchglass-grant": JSON.stringify(grant) } });
      }
    }
    const wg = await connect(this.url(`${object}/watch`, "ws"), {
      wasm: pathToFileURL(built("watchglass.wasm")),
      WebSocket: Granted as unknown as typeof WebSocket,
    });
    this.#t.after(() => wg.close());
    return wg;
  }
}

/** Waits until a collection's status is as wanted. */
export function until(pods: Collection, wanted: (status: CollectionStatus) => boolean): Promise<CollectionStatus> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!wanted(pods.status)) return;
      stop();
      resolve(pods.status);
    };
    const stop = pods.subscribe(look);
    look();
  });
}
