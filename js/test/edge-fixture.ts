import { on, once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { WebSocket as Socket } from "ws";
import { connect, type Collection, type CollectionProgress, type CollectionStatus, type Watchglass } from "../src/index.js";
import { inShard } from "../src/edge/clusters.js";
import { TestConnector, type Feed } from "./connector.js";
import { Reader, split, Writer } from "../src/wire/codec.js";
import { Match, Policy, Tristate } from "../src/wire/commands.js";
import { writeCommand, type Command } from "../src/wire/driver-commands.js";
import { built, packaged } from "./paths.js";
import { serveWorkerd, type Workerd } from "./workerd.js";

export const everything = { resources: ["*"], namespaces: ["*"], expires: 4e9, cluster: "test", user: "tester", feed: false };

/** Returns the path of a request that contains a command about pods, as host/edge sends it. */
export function backendPath(frame: Uint8Array): string {
  return `/backend/command?resource=v1/pods&command=${Buffer.from(frame).toString("base64url")}`;
}

/** Returns the bytes of a command. */
export function commandFrame(command: Command): Uint8Array<ArrayBuffer> {
  const w = new Writer();
  writeCommand(w, command);
  return w.take().slice();
}

const scope = { collection: 0, namespace: "", labelSelector: "", fieldSelector: "", resourceVersion: "", match: Match.unset, bodies: true };

/** Commands as host/edge sends them. */
export const getCommand = (key: string): Command => ({ type: "Get", request: 0, collection: 0, key });
export const listCommand = (options: Partial<Command & { type: "List" }> = {}): Command => ({ type: "List", request: 0, ...scope, limit: 0, continue: "", ...options });
export const watchCommand = (options: Partial<Command & { type: "OpenWatch" }> = {}): Command => ({
  type: "OpenWatch",
  watch: 0,
  ...scope,
  sendInitialEvents: Tristate.unset,
  bookmarks: false,
  timeoutSeconds: 0,
  policy: Policy.terminate,
  credit: 0,
  previous: false,
  ...options,
});

/** An edge in workerd. Its storage directory survives restarts of workerd. */
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
    this.#workerd = await serveWorkerd(packaged("test", "edge", "config.capnp"), "--experimental", `--directory-path=objects=${this.#objects}`);
  }

  /** Returns the number of bytes that the objects use on disk, without the index of SQLite's log. */
  stored(): number {
    const files = readdirSync(this.#objects, { recursive: true, encoding: "utf8" }).filter((name) => /[0-9a-f]{64}\.sqlite(-wal)?$/.test(name));
    return files.reduce((sum, name) => sum + (statSync(join(this.#objects, name), { throwIfNoEntry: false })?.size ?? 0), 0); // the object may have deleted the file meanwhile
  }

  get pid(): number {
    return this.#workerd.pid;
  }

  async restart(): Promise<void> {
    await this.#workerd.kill();
    await this.serve();
  }

  /**
   * Evicts an object as soon as it has stored its state. The sockets of the object stay open, as
   * when the platform evicts an idle object. Without this call, workerd evicts an idle object after
   * ten seconds. The worker evicts the object with the same call as miniflare.
   */
  async evict(object = "one"): Promise<void> {
    await this.until(`${object}/status`, ({ settled }) => settled);
    await this.get(`${object}/evict`);
  }

  /** Evicts an object immediately, even if its state is not stored. */
  async evictNow(object = "one"): Promise<void> {
    await this.get(`${object}/status`); // loads the object into memory, because only then can it be evicted
    await this.get(`${object}/evict`);
  }

  /** Polls a path until the response satisfies the condition, and resolves with the response. */
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

  feed(connector: TestConnector, { object = "one", grant = { ...everything, feed: true } as object, clusterID = connector.clusterID, resources = "v1/pods", replace = false, shard = "" } = {}): Promise<Feed> {
    const query = new URLSearchParams({ resources, clusterID, ...(replace && { replace: "true" }), ...(shard && { shard }) });
    const has = (key: string): boolean => shard === "" || inShard(key.slice(0, key.indexOf("/")), shard);
    return connector.feed(this.url(`${object}/feed?${query}`, "ws"), { "x-watchglass-grant": JSON.stringify(grant) }, has);
  }

  /** Connects a reader. The sockets of the reader are added to `sockets`. */
  async read({ object = "one", query = "", grant = everything as object, sockets = [] as Socket[] } = {}): Promise<Watchglass> {
    class Granted extends Socket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols, { headers: { "x-watchglass-grant": JSON.stringify(grant) } });
        sockets.push(this);
      }
    }
    const wg = await connect(this.url(`${object}/watch?${query}`, "ws"), {
      wasm: pathToFileURL(built("watchglass.wasm")),
      WebSocket: Granted as unknown as typeof WebSocket,
    });
    this.#t.after(() => wg.close());
    return wg;
  }
}

/**
 * Waits until the status and the progress of a collection satisfy the condition, and resolves with
 * them.
 */
export function until(pods: Collection, wanted: (now: CollectionStatus & CollectionProgress) => boolean): Promise<CollectionStatus & CollectionProgress> {
  return new Promise((resolve) => {
    const look = (): void => {
      const now = { ...pods.status, ...pods.progress };
      if (!wanted(now)) return;
      for (const stop of stops) stop();
      resolve(now);
    };
    const stops = [pods.subscribe(look), pods.subscribeProgress(look)];
    look();
  });
}

export interface Setup {
  edge: Edge;
  connector: TestConnector;
  feed: Feed;
  wg: Watchglass;
  pods: Collection;
}

/** Starts an object with a feed of 30 pods, and a reader that has loaded them. */
export async function setup(t: TestContext, object = "one"): Promise<Setup> {
  const connector = await TestConnector.start();
  t.after(() => connector.close());
  for (let i = 0; i < 30; i++) connector.put(`default/web-${i}`, i % 2 ? "web" : "api", "Running");
  const edge = await Edge.start(t);
  const feed = await edge.feed(connector, { object });
  await edge.until(`${object}/status`, ({ resources }) => resources["v1/pods"].state === "live");
  const wg = await edge.read({ object });
  const pods = wg.collection("v1/pods");
  await pods.synced;
  return { edge, connector, feed, wg, pods };
}

/** Waits until the reader has reached the connector's newest version. */
export async function caughtUp({ connector, pods }: Setup): Promise<void> {
  await until(pods, ({ resourceVersion }) => resourceVersion === String(connector.rv));
}

export async function relists(wg: Watchglass): Promise<number | undefined> {
  return (await wg.inspect())["collection.1.relists"];
}

/** Connects a reader whose frames the test writes. */
export async function rawReader(edge: Edge, grant: object, object = "one"): Promise<Socket> {
  const socket = new Socket(edge.url(`${object}/watch`, "ws"), "watchglass.v2", { headers: { "x-watchglass-grant": JSON.stringify(grant) } });
  await once(socket, "open");
  return socket;
}

export function hello(w: Writer): void {
  w.frame(0x01, () => {
    w.uvarint(2);
    w.text("");
    w.text("test");
  });
}

/** Yields the subscription statuses that a reader receives after the call. */
export async function* statuses(socket: Socket): AsyncGenerator<{ subscription: number; code: number; cause: string }, void, void> {
  for await (const [data] of on(socket, "message")) {
    for (const { type, payload } of split(new Uint8Array(data as Buffer))) {
      if (type !== 0x19) continue;
      const r = new Reader(payload, "SubscriptionStatus");
      const [subscription, code] = [r.uint32(), r.uint32()];
      for (let i = 0; i < 2; i++) r.text();
      yield { subscription, code, cause: r.text() };
    }
  }
}

export function subscribe(w: Writer, { id, credit, labels = "", fields = "" }: { id: number; credit: number; labels?: string; fields?: string }): void {
  w.frame(0x02, () => {
    w.uvarint(id);
    for (const text of ["v1/pods", "", labels, fields]) w.text(text);
    w.uvarint(0);
    w.uvarint(0);
    w.text("");
    w.uvarint(0);
    w.uvarint(0);
    w.bool(false); // metadata only
    w.bool(false); // rows first
    w.text("");
    w.text("");
    w.uvarint(credit);
  });
}
