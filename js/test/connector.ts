import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import { Reader, split, Writer } from "../src/wire/codec.js";
import { writeSubscriptionStatus } from "../src/wire/status.js";
import { writeEnvelope, writeSchema } from "./fake.js";

interface Change {
  rv: number;
  type: 1 | 2 | 3;
  key: string;
}

interface Stored {
  rv: number;
  phase: string;
  app: string;
}

/** A WebSocket to an edge, through which the connector feeds an object. */
export interface Feed {
  readonly socket: WebSocket;
  /** The number of sessions that the edge has begun on this socket. */
  begun: number;
  /** Resolves with the close code and reason. */
  readonly closed: Promise<string>;
}

const labelSets = { web: 1, api: 2 } as const;

/**
 * A small connector that serves pods. Every subscription receives all pods. Subscriptions can
 * resume from a version. Tests set its properties to simulate faults.
 */
export class TestConnector {
  readonly hellos: string[] = [];
  readonly subscribes: number[] = [];
  rv = 100;
  progressMillis = 10_000;
  /** The cluster ID that the connector reports. */
  clusterID = "test";
  /** If true, the resource does not exist, and subscriptions end with a 404. */
  absent = false;
  /** Whether all messages are dropped in both directions, as by a proxy that stops forwarding. */
  silent = false;
  /** Text that is added to every body to make it larger. */
  padding = "";
  /** Whether a token is accepted. A connection with any other token is refused with a 401. */
  accepts = (_token: string): boolean => true;
  /** The number of connections that are refused before one is accepted. */
  refusals = 0;
  /** The number of attempts to connect, including refused ones. */
  attempts = 0;
  /**
   * If set, the connector delays each response to a subscription, and adds to this array a function
   * that sends the response. If undefined, it sends responses immediately.
   */
  held: (() => void)[] | undefined;
  readonly #pods = new Map<string, Stored>();
  readonly #history: Change[] = [];
  /**
   * The IDs of the subscriptions of each connection, and whether each subscription omits bodies.
   */
  readonly #subscribers = new Map<WebSocket, Map<number, boolean>>();
  /**
   * For each connection, the function that reports whether the connection receives a key. A
   * connection without an entry receives all keys.
   */
  readonly #has = new WeakMap<WebSocket, (key: string) => boolean>();
  readonly #http: Server;

  private constructor(http: Server) {
    this.#http = http;
    const server = new WebSocketServer({
      server: http,
      handleProtocols: (offered) => (offered.has("watchglass.v2") ? "watchglass.v2" : false),
      verifyClient: () => {
        this.attempts++;
        return this.refusals === 0 || this.refusals-- < 0;
      },
    });
    server.on("connection", (socket) => {
      socket.binaryType = "arraybuffer";
      socket.on("message", (data) => this.#receive(socket, new Uint8Array(data as ArrayBuffer)));
      socket.on("close", () => this.#subscribers.delete(socket));
    });
  }

  static async start(handler?: Parameters<typeof createServer>[1]): Promise<TestConnector> {
    const http = createServer(handler!);
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    return new TestConnector(http);
  }

  get address(): string {
    return `127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  put(key: string, app: keyof typeof labelSets, phase: string): void {
    const type = this.#pods.has(key) ? 2 : 1;
    this.#pods.set(key, { rv: ++this.rv, phase, app });
    this.#notify({ rv: this.rv, type, key });
  }

  delete(key: string): void {
    this.#pods.delete(key);
    this.#notify({ rv: ++this.rv, type: 3, key });
  }

  /**
   * Dials an edge and feeds it the keys that `has` accepts, as `watchglass push` does. Rejects with
   * the HTTP status of a refusal.
   */
  feed(url: string, headers: Record<string, string>, has = (_key: string): boolean => true): Promise<Feed> {
    const socket = new WebSocket(url, "watchglass.v2", { headers });
    this.#has.set(socket, has);
    socket.binaryType = "arraybuffer";
    const feed = { socket, begun: 0, closed: new Promise<string>((resolve) => socket.on("close", (code, reason) => resolve(`${code} ${reason}`))) };
    socket.on("message", (data, binary) => {
      if (binary) return this.#receive(socket, new Uint8Array(data as ArrayBuffer));
      const number = /^begin (\d+)$/.exec(Buffer.from(data as ArrayBuffer).toString())![1]!;
      this.#subscribers.delete(socket); // the previous session has ended
      feed.begun++;
      socket.send(`begun ${number}`);
    });
    socket.on("close", () => this.#subscribers.delete(socket));
    return new Promise((resolve, reject) => {
      socket.on("open", () => resolve(feed));
      socket.on("error", reject);
      socket.on("unexpected-response", (_request, response) => reject(new Error(String(response.statusCode))));
    });
  }

  /** Sends a message to all connections. */
  send(message: Uint8Array): void {
    for (const socket of this.#subscribers.keys()) socket.send(message);
  }

  /** Reports progress at the current version. */
  progress(): void {
    for (const [socket, ids] of this.#subscribers) this.#send(socket, (w) => ids.forEach((_, id) => this.#progress(w, id)));
  }

  /** Removes the resource, and ends its subscriptions. */
  uninstall(): void {
    this.absent = true;
    for (const [socket, ids] of this.#subscribers) {
      this.#send(socket, (w) => [...ids.keys()].forEach((id) => writeSubscriptionStatus(w, id, { code: 404, reason: "NotFound", message: "the pods are gone" })));
      ids.clear();
    }
  }

  /** Breaks every connection, without a close frame. */
  cut(): void {
    for (const socket of this.#subscribers.keys()) socket.terminate();
  }

  async close(): Promise<void> {
    this.cut();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  #receive(socket: WebSocket, message: Uint8Array): void {
    if (this.silent) return;
    for (const { type, payload } of split(message)) {
      const r = new Reader(payload, "test");
      if (type === 0x01) {
        r.uvarint();
        const token = r.text();
        this.hellos.push(token);
        if (!this.accepts(token)) {
          this.#send(socket, (w) => writeSubscriptionStatus(w, 0, { code: 401, reason: "Unauthorized", message: "the token has expired" }));
          return socket.close(1008);
        }
        this.#subscribers.set(socket, new Map());
        this.#send(socket, (w) =>
          w.frame(0x10, () => {
            w.uvarint(2);
            w.text("test");
            w.uvarint(this.progressMillis);
          }),
        );
      } else if (type === 0x02) {
        const id = r.uint32();
        for (let i = 0; i < 4; i++) r.text();
        const from = r.uvarint();
        r.uvarint();
        r.text();
        r.resourceVersion();
        r.resourceVersion();
        const metadataOnly = r.bool();
        const answer = (): void => void (this.#subscribers.has(socket) && this.#subscribe(socket, id, from, metadataOnly));
        if (this.held) this.held.push(answer);
        else answer();
      } else if (type === 0x03) {
        this.#subscribers.get(socket)?.delete(r.uint32());
      }
    }
  }

  #subscribe(socket: WebSocket, id: number, from: number, metadataOnly: boolean): void {
    this.subscribes.push(from);
    if (this.absent) return this.#send(socket, (w) => writeSubscriptionStatus(w, id, { code: 404, reason: "NotFound", message: "there are no pods yet" }));
    const has = this.#hasOf(socket);
    this.#subscribers.get(socket)!.set(id, metadataOnly);
    this.#send(socket, (w) => {
      w.frame(0x11, () => {
        w.uvarint(id);
        writeSchema(w);
        w.uvarint(0);
        w.text(this.clusterID);
        w.uvarint(0);
      });
      for (const [app, set] of Object.entries(labelSets)) {
        w.frame(0x13, () => {
          for (const n of [id, set, 1]) w.uvarint(n);
          w.text("app");
          w.text(app);
        });
      }
      if (from === 0) this.#snapshot(w, id, metadataOnly, has);
      else for (const change of this.#history.filter((c) => c.rv > from && has(c.key))) this.#event(w, id, change, metadataOnly);
      this.#progress(w, id);
    });
  }

  #hasOf(socket: WebSocket): (key: string) => boolean {
    return this.#has.get(socket) ?? (() => true);
  }

  #progress(w: Writer, id: number): void {
    w.frame(0x18, () => {
      w.uvarint(id);
      w.uvarint(this.rv);
    });
  }

  #snapshot(w: Writer, id: number, metadataOnly: boolean, has: (key: string) => boolean): void {
    const keys = [...this.#pods.keys()].filter(has).sort();
    w.frame(0x14, () => {
      for (const n of [id, this.rv, keys.length]) w.uvarint(n);
      w.bool(false);
    });
    w.frame(0x15, () => {
      w.uvarint(id);
      w.uvarint(keys.length);
      for (const key of keys) {
        w.uvarint(this.#pods.get(key)!.rv);
        this.#content(w, key, metadataOnly);
      }
    });
    w.frame(0x16, () => {
      w.uvarint(id);
      w.uvarint(this.rv);
    });
  }

  /**
   * Sends a change and progress. Without the progress, a reader would become stale while a test
   * makes changes for a long time.
   */
  #notify(change: Change): void {
    this.#history.push(change);
    for (const [socket, ids] of this.#subscribers) {
      if (!this.#hasOf(socket)(change.key)) continue;
      this.#send(socket, (w) =>
        ids.forEach((metadataOnly, id) => {
          this.#event(w, id, change, metadataOnly);
          this.#progress(w, id);
        }),
      );
    }
  }

  #event(w: Writer, id: number, { rv, type, key }: Change, metadataOnly: boolean): void {
    w.frame(0x17, () => {
      for (const n of [id, rv, 1]) w.uvarint(n);
      w.byte(type);
      w.uvarint(0);
      if (type === 3) w.text(key);
      else this.#content(w, key, metadataOnly);
    });
  }

  #content(w: Writer, key: string, metadataOnly: boolean): void {
    const { phase, app } = this.#pods.get(key)!;
    const [namespace, name] = key.split("/") as [string, string];
    w.byte(0);
    w.uvarint(labelSets[app as keyof typeof labelSets]);
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, uid: `uid-${key}`, labels: { app } }, spec: { padding: this.padding }, status: { phase } };
    writeEnvelope(w, { key, fields: [name, namespace], cells: [phase], ...(!metadataOnly && { body }) });
  }

  #send(socket: WebSocket, write: (w: Writer) => void): void {
    if (this.silent) return;
    const w = new Writer();
    write(w);
    if (w.length > 0) socket.send(w.take());
  }
}
