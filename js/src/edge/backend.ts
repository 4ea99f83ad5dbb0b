import type { Engine } from "../engine.js";
import { idsPerMember, type Membership } from "../member.js";
import { WatchglassError } from "../errors.js";
import type { Status } from "../types.js";
import { Reader, Writer, type Frame } from "../wire/codec.js";
import { writeCommand, type Command } from "../wire/driver-commands.js";
import { readOutput, type Output } from "../wire/driver-outputs.js";
import { codeOf, PageStream, WatchStream, type Page } from "./answers.js";
import { readCommand, type ReadCommand } from "./command.js";
import type { Metrics } from "./metrics.js";
import type { StoredCollections } from "./stored-collections.js";
import { status } from "./refusal.js";

// This module is the object's side of host/edge. host/edge/doc.go documents the requests and
// responses.

/** The path prefix of the requests. */
export const backendRoot = "/backend/";

/** How long a request waits for data that has not arrived yet, in milliseconds (rule C6). */
const readyMillis = 10_000;

/** The maximum number of events that a watch buffers for its client. */
const watchCredit = 100;

/** The maximum size of all unread responses, in bytes. */
const maxWaiting = 16 << 20;
/** The approximate size of a page that is requested from the engine, in bytes. */
const pageBytes = 1 << 20;

const verbs = { Get: "get", List: "list", OpenWatch: "watch" } as const;

type Get = Command & { type: "Get" };
type List = Command & { type: "List" };
type OpenWatch = Command & { type: "OpenWatch" };

/** A frame from the engine, as bytes for the response and as parsed output. */
interface Answer {
  bytes: Uint8Array<ArrayBuffer>;
  output: Output;
}

/** A request that waits for its one reply from the engine. */
interface Waiting {
  resolve(answer: Answer): void;
  reject(error: WatchglassError): void;
}

interface Held {
  id: number;
  /** Resolves with the frame of the schema. */
  schema: Promise<Answer>;
  described: Waiting;
}

/** Serves the requests of the edge's HTTP server with data from the object's engine. */
export class Backend {
  readonly #collections: Pick<StoredCollections, "resources" | "refused">;
  readonly #metrics: Metrics;
  readonly #membership: Membership;
  readonly #writer = new Writer();
  readonly #held = new Map<string, Held>();
  readonly #waiting = new Map<number, Waiting>();
  readonly #watches = new Map<number, WatchStream>();
  readonly #lists = new Set<PageStream>();
  /** The number of pages that were requested from the engine and have not arrived. */
  #pages = 0;
  /** The number of requests that wait for a reply from the engine. */
  #pending = 0;
  #lastId = 0;

  constructor(engine: Engine, collections: Pick<StoredCollections, "resources" | "refused">, metrics: Metrics) {
    this.#collections = collections;
    this.#metrics = metrics;
    this.#membership = engine.attach({
      frames: () => {},
      frame: (frame) => this.#handleOutput(frame),
      restarted: (message) => this.#fail(message),
      failed: (message) => this.#fail(message),
      token: async () => "",
    });
  }

  /**
   * The size of all unread responses in bytes, with an estimate for pages that have not arrived.
   */
  get bytes(): number {
    let bytes = this.#pages * pageBytes;
    for (const { bytes: waiting } of this.#watches.values()) bytes += waiting;
    for (const { bytes: waiting } of this.#lists) bytes += waiting;
    return bytes;
  }

  /** The number of open watches. */
  get watches(): number {
    return this.#watches.size;
  }

  /** The number of requests, such as lists, that wait for a reply from the engine. */
  get waiting(): number {
    return this.#pending;
  }

  /** Ends all responses and leaves the engine. */
  leave(why: string): void {
    this.#fail(why);
    this.#membership.leave();
  }

  /** Responds to a request. Throws a {@link WatchglassError} to refuse it. */
  async answer({ pathname, searchParams: query }: URL): Promise<Response> {
    if (pathname === `${backendRoot}schemas`) return this.#schemas(query.get("resource"));
    if (pathname !== `${backendRoot}command`) throw new WatchglassError(status(404, "NotFound", `there is no request ${pathname}`));
    const resource = query.get("resource");
    if (resource === null) throw new WatchglassError(status(400, "BadRequest", "the parameter resource is missing"));
    const command = readCommand(query.get("command"));
    const verb = verbs[command.type];
    const start = Date.now();
    let open = true;
    const ended = (code: number): void => {
      if (open) this.#metrics.ended(verb, code, start);
      open = false;
    };
    try {
      return await this.#perform(resource, command, query.get("all") === "true", ended);
    } catch (error) {
      ended(codeOf(error));
      throw error;
    }
  }

  /**
   * Executes a command, and returns the response. Calls `ended` when the response ends. If this
   * method throws, the caller must call `ended`.
   */
  async #perform(resource: string, command: ReadCommand, all: boolean, ended: (code: number) => void): Promise<Response> {
    switch (command.type) {
      case "Get": {
        const response = await this.#get(resource, command);
        ended(200);
        return response;
      }
      case "List":
        return this.#list(resource, command, all, ended);
      case "OpenWatch":
        return this.#watch(resource, command, ended);
    }
  }

  async #schemas(one: string | null): Promise<Response> {
    const resources = one === null ? this.#collections.resources : [one];
    if (resources.length === 0) throw unfed();
    const schemas = await this.#within(Promise.all(resources.map((resource) => this.#hold(resource).schema)));
    return reply(...schemas);
  }

  async #get(resource: string, command: Get): Promise<Response> {
    const collection = await this.#described(resource);
    return reply(await this.#request((request) => ({ ...command, request, collection })));
  }

  async #list(resource: string, command: List, all: boolean, ended: (code: number) => void): Promise<Response> {
    const options = { ...command, collection: await this.#described(resource) };
    const first = await this.#page(options);
    const stream = new PageStream(all ? first : { ...first, next: "" }, {
      follow: (next) => this.#page({ ...options, resourceVersion: "", match: 0, continue: next }),
      done: (code) => {
        this.#lists.delete(stream);
        ended(code);
      },
    });
    this.#lists.add(stream);
    return new Response(stream.readable);
  }

  async #page(options: List): Promise<Page> {
    if (this.bytes > maxWaiting) throw new WatchglassError(crowded());
    this.#pages++;
    try {
      const { bytes, output } = await this.#request((request) => ({ ...options, request }));
      return { bytes, next: (output as Output & { type: "ListReply" }).continue };
    } finally {
      this.#pages--;
    }
  }

  #watch(resource: string, command: OpenWatch, ended: (code: number) => void): Response {
    const { id: collection } = this.#hold(resource);
    const watch = this.#newId();
    const stream = new WatchStream({
      grant: (events) => this.#send({ type: "GrantWatch", watch, events }),
      ended,
      cancel: () => {
        this.#watches.delete(watch);
        this.#send({ type: "CloseWatch", watch });
      },
    });
    this.#watches.set(watch, stream);
    this.#send({ ...command, watch, collection, credit: watchCredit });
    // If the watch is invalid, the engine has already refused it.
    if (stream.failure) throw stream.failure;
    return new Response(stream.readable);
  }

  /**
   * Opens the collection of a resource that the object holds, unless it is open. In the engine,
   * this collection shares the store of the object's own collection.
   */
  #hold(resource: string): Held {
    const { resources } = this.#collections;
    for (const [other, { id }] of this.#held) {
      if (resources.includes(other)) continue;
      this.#held.delete(other);
      this.#send({ type: "CloseCollection", collection: id });
    }
    if (resources.length === 0) throw unfed();
    if (!resources.includes(resource)) {
      throw new WatchglassError(status(404, "NotFound", `this object does not have the resource ${resource}; it has ${resources.join(", ")}`));
    }
    // Responses contain bodies, so a resource without bodies is refused.
    const refused = this.#collections.refused(resource, false);
    if (refused) throw new WatchglassError(refused);
    let held = this.#held.get(resource);
    if (!held) {
      let described!: Waiting;
      const schema = new Promise<Answer>((resolve, reject) => (described = { resolve, reject }));
      schema.catch(() => {}); // callers handle the rejection
      held = { id: this.#newId(), schema, described };
      this.#held.set(resource, held);
      this.#send({ type: "OpenCollection", collection: held.id, resource, namespace: "", labelSelector: "", fieldSelector: "", metadataOnly: false, restore: false });
    }
    return held;
  }

  /**
   * Opens the collection of a resource, waits for its schema, and returns its ID. If a request were
   * sent earlier and timed out, the engine would keep the request until the schema arrives or
   * cannot arrive.
   */
  async #described(resource: string): Promise<number> {
    const { id, schema } = this.#hold(resource);
    await this.#within(schema);
    return id;
  }

  async #request(question: (request: number) => Command): Promise<Answer> {
    const request = this.#newId();
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(request, { resolve, reject });
      this.#send(question(request));
    });
    try {
      return await this.#within(answer);
    } finally {
      this.#waiting.delete(request);
    }
  }

  #handleOutput(frame: Frame): void {
    if (frame.type === 0x67) return this.#events(frame);
    const output = readOutput(frame);
    switch (output?.type) {
      case "ObjectReply":
      case "ListReply":
        this.#take(output.id)?.resolve({ bytes: frame.bytes.slice(), output });
        return;
      case "ErrorReply":
        this.#take(output.id)?.reject(asError(output.status));
        return;
      case "CollectionSchema": {
        const held = this.#find(output.id);
        if (!held) return;
        const answer = { bytes: frame.bytes.slice(), output };
        held.described.resolve(answer);
        held.schema = Promise.resolve(answer); // the schema may have changed
        return;
      }
      case "CollectionState":
        // Drop the collection, so that the next request opens it again and the engine retries
        // immediately.
        if (output.state === "forbidden" || (output.status?.code === 404 && output.nextAttemptMillis)) this.#drop(output.id, output.status);
        return;
      case "Rejected":
        if (output.object === "collection") this.#drop(output.id, output.status);
        else if (output.object === "watch") this.#end(output.id, (stream) => stream.fail(asError(output.status)));
        return;
      case "WatchClosed":
        this.#end(output.id, (stream) => stream.close(frame.bytes.slice()));
        return;
    }
  }

  /** Passes events unmodified to the response of their watch. */
  #events(frame: Frame): void {
    const r = new Reader(frame.payload, "WatchEvents");
    const stream = this.#watches.get(r.uint32());
    stream?.add(frame.bytes.slice(), r.uvarint());
    if (this.bytes > maxWaiting) this.#endLongest();
  }

  /** Ends the watch with the most unread bytes. Its client can continue with a new watch. */
  #endLongest(): void {
    const [longest] = [...this.#watches].sort(([, a], [, b]) => b.bytes - a.bytes);
    if (!longest) return;
    const [watch, stream] = longest;
    this.#watches.delete(watch);
    stream.fail(new WatchglassError(crowded()));
    // Send the command after the engine's output has been handled.
    queueMicrotask(() => this.#send({ type: "CloseWatch", watch }));
  }

  #take(request: number): Waiting | undefined {
    const waiting = this.#waiting.get(request);
    this.#waiting.delete(request);
    return waiting;
  }

  #find(collection: number): Held | undefined {
    for (const held of this.#held.values()) if (held.id === collection) return held;
    return undefined;
  }

  /** Drops a collection that failed. The next request opens it again. */
  #drop(collection: number, why: Status | undefined): void {
    for (const [resource, { id, described }] of this.#held) {
      if (id !== collection) continue;
      this.#held.delete(resource);
      described.reject(asError(why));
      queueMicrotask(() => this.#send({ type: "CloseCollection", collection }));
    }
  }

  #end(watch: number, how: (stream: WatchStream) => void): void {
    const stream = this.#watches.get(watch);
    this.#watches.delete(watch);
    if (stream) how(stream);
  }

  /**
   * Fails all pending requests and open watches. The cause is logged and not sent, because it may
   * name objects that the readers may not read.
   */
  #fail(cause: string): void {
    console.error(`watchglass: the object restarts: ${cause}`);
    const error = new WatchglassError({ ...status(503, "ServiceUnavailable", "the object restarts"), retryAfterSeconds: 1 });
    for (const { described } of this.#held.values()) described.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    for (const stream of this.#watches.values()) stream.fail(error);
    this.#held.clear();
    this.#waiting.clear();
    this.#watches.clear();
  }

  #send(command: Command): void {
    writeCommand(this.#writer, command);
    this.#membership.send(this.#writer.take());
  }

  /** Waits as {@link within} does, and counts the request as pending while it waits. */
  async #within<T>(answer: Promise<T>): Promise<T> {
    this.#pending++;
    try {
      return await within(answer);
    } finally {
      this.#pending--;
    }
  }

  /** Returns an unused ID for a request, a watch or a collection of this member. */
  #newId(): number {
    const base = this.#membership.member * idsPerMember;
    do {
      this.#lastId = (this.#lastId + 1) % idsPerMember;
    } while (this.#waiting.has(base + this.#lastId) || this.#watches.has(base + this.#lastId) || this.#find(base + this.#lastId));
    return base + this.#lastId;
  }
}

/** Rejects with a 429 if a promise is not settled within {@link readyMillis}. */
async function within<T>(answer: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new WatchglassError({ ...status(429, "TooManyRequests", "the resource has not been loaded yet, try again"), retryAfterSeconds: 1 })), readyMillis);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function reply(...answers: Answer[]): Response {
  return new Response(new Blob(answers.map(({ bytes }) => bytes)));
}

function crowded(): Status {
  return { ...status(429, "TooManyRequests", "the object has no memory for further responses; try again"), retryAfterSeconds: 1 };
}

function unfed(): WatchglassError {
  return new WatchglassError({ ...status(503, "ServiceUnavailable", "no connector has fed this object yet"), retryAfterSeconds: 1 });
}

function asError(why: Status | undefined): WatchglassError {
  return new WatchglassError(why ?? status(500, "InternalError", "the engine refused without a reason"));
}
