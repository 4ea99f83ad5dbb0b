// The script of the worker that runs the engines. There is one engine for each user and connector
// or Kubernetes API, which all pages of that user share. The script runs as a SharedWorker, as the
// dedicated Worker of one page, or as the dedicated Worker that an elected page runs for all pages.

import type { Engine } from "./engine.js";
import { messageOf } from "./errors.js";
import type { MemberEvents, Membership } from "./member.js";
import { Outbox } from "./outbox.js";
import { Persistence } from "./persistence/persistence.js";
import { holdLock, onRelease, type FromElected, type Port, type ToElected, type ToPage, type ToWorker } from "./port.js";
import { startEngine } from "./start.js";

/**
 * The time without a message after which the worker treats a page without Web Locks as closed, in
 * milliseconds. The time is longer than a minute, because browsers run the timers of hidden pages
 * once a minute.
 */
const silenceMillis = 200_000;

/**
 * How long an engine outlives its last page, in milliseconds, so that a reloaded page finds its
 * objects already loaded. The engine keeps collections without users for the same time. Outliving
 * the last page requires a browser that extends the lifetime of shared workers.
 */
const lingerMillis = 5_000;

interface Running {
  readonly engine: Promise<Engine>;
  /** The options of the first page, as JSON. */
  readonly options: string;
  /**
   * Whether the engine outlives its last page. An engine that stores states ends with its last
   * page, so that another user's page can delete the states.
   */
  readonly lingers: boolean;
}

const engines = new Map<string, Running>();
/** The engines without pages, until they are closed. */
const idle = new Set<Engine>();
const lock = holdLock();

type Attach = ToWorker & { op: "attach" };

const keyOf = ({ url, identity, kubernetes }: Attach): string => JSON.stringify([url, identity, kubernetes]);

const optionsOf = ({ wasm, maxBytes, maxHistory, pauseMillis, persist }: Attach): string =>
  JSON.stringify([typeof wasm === "string" ? wasm : typeof wasm, maxBytes, maxHistory, pauseMillis, persist]);

/**
 * Returns the engine for a page, and starts it if necessary. An engine uses the options of its
 * first page.
 */
async function engineFor(attach: Attach): Promise<Engine> {
  const key = keyOf(attach);
  const options = optionsOf(attach);
  const running = engines.get(key);
  if (running) {
    const engine = await running.engine;
    if (engines.get(key) !== running) return engineFor(attach);
    if (!idle.has(engine) || running.options === options) return engine;
    end(key, engine); // no page uses the old options any longer
  }
  const { url, identity, persist } = attach;
  const persistence = persist ? Persistence.open({ url, identity, ...(typeof persist === "object" && persist) }) : undefined;
  const engine = startEngine({ ...attach, persistence });
  engines.set(key, { engine, options, lingers: !persist });
  engine.catch(async () => {
    engines.delete(key);
    (await persistence)?.close();
  });
  return engine;
}

function end(key: string, engine: Engine): void {
  idle.delete(engine);
  engines.delete(key);
  engine.close();
}

/**
 * Ends an engine if it has no pages: immediately if the last page left, or after
 * {@link lingerMillis} if the browser closed that page.
 */
function endIfEmpty(key: string, engine: Engine, closed: boolean): void {
  if (engine.members > 0) return;
  if (!closed || !engines.get(key)?.lingers) return end(key, engine);
  idle.add(engine);
  setTimeout(() => idle.has(engine) && end(key, engine), lingerMillis);
}

/** One connected page. */
class Page {
  readonly #port: Port<ToWorker, ToPage>;
  readonly #onLeave: () => void;
  readonly #tokens = new Map<number, { resolve(token: string): void; reject(error: Error): void }>();
  readonly #outbox = new Outbox((frames) => this.#post({ op: "frames", frames }, [frames.buffer]));
  #leaveEngine: ((closed: boolean) => void) | undefined;
  #membership: Membership | undefined;
  #epoch = 0;
  #requests = 0;
  #left = false;
  #staticToken: string | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  /** Serves a page on a port. `onLeave` is called when the page has left. */
  constructor(port: Port<ToWorker, ToPage>, onLeave = (): void => {}) {
    this.#port = port;
    this.#onLeave = onLeave;
    port.onmessage = ({ data }) => this.receive(data);
  }

  receive(message: ToWorker): void {
    if (this.#silence !== undefined) this.#watchSilence();
    switch (message.op) {
      case "attach":
        this.#staticToken = message.token;
        if (message.lock) onRelease(message.lock, () => this.leave(true));
        else this.#watchSilence();
        return void this.#attach(message);
      case "frames":
        if (message.epoch === this.#epoch) this.#membership?.send(message.frames);
        return;
      case "token":
        return this.#token(message.request)?.resolve(message.token);
      case "no token":
        return this.#token(message.request)?.reject(new Error(message.message));
      case "ping":
        return this.#post({ op: "pong" });
      case "hide":
        return this.#membership?.hide(message.hidden);
      case "ack":
        return this.#outbox.acknowledged();
      case "leave":
        return this.leave();
    }
  }

  async #attach(message: Attach): Promise<void> {
    try {
      const { name } = await lock;
      const engine = await engineFor(message);
      const membership = engine.attach(this.#events(), message.member);
      idle.delete(engine);
      this.#leaveEngine = (closed) => {
        membership.leave();
        endIfEmpty(keyOf(message), engine, closed);
      };
      if (this.#left) return this.#leaveEngine(false);
      this.#membership = membership;
      this.#post({ op: "attached", member: this.#membership.member, lock: name });
    } catch (error) {
      this.#post({ op: "failed", message: messageOf(error) });
    }
  }

  #events(): MemberEvents {
    return {
      frames: (frames) => this.#outbox.add(frames),
      restarted: (message) => {
        this.#outbox.flush();
        this.#post({ op: "restarted", epoch: ++this.#epoch, message });
      },
      failed: (message) => this.#post({ op: "failed", message }),
      token: () => {
        if (this.#staticToken !== undefined) return Promise.resolve(this.#staticToken);
        return new Promise((resolve, reject) => {
          const request = ++this.#requests;
          this.#tokens.set(request, { resolve, reject });
          this.#post({ op: "token?", request });
        });
      },
    };
  }

  #token(request: number): { resolve(token: string): void; reject(error: Error): void } | undefined {
    const waiting = this.#tokens.get(request);
    this.#tokens.delete(request);
    return waiting;
  }

  /** Leaves the engine. `closed` is true if the browser closed the page. */
  leave(closed = false): void {
    if (this.#left) return;
    this.#left = true;
    clearTimeout(this.#silence);
    for (const { reject } of this.#tokens.values()) reject(new Error("the page was closed"));
    this.#tokens.clear();
    this.#leaveEngine?.(closed);
    this.#leaveEngine = undefined;
    this.#onLeave();
  }

  #watchSilence(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      this.#post({ op: "failed", message: `the page has not responded for ${silenceMillis / 1000} s` });
      this.leave();
    }, silenceMillis);
  }

  #post(message: ToPage, transfer: Transferable[] = []): void {
    this.#port.postMessage(message, transfer);
  }
}

/**
 * Serves the pages of all tabs from the worker of the elected page. Pages join on the broadcast
 * channel with this name. The elected page sends its messages to the worker directly.
 */
function lead(name: string): void {
  const scope = globalThis as unknown as Port<ToElected, FromElected>;
  const channel = new BroadcastChannel(name);
  const pages = new Map<string, Page>();
  const report = (): void => scope.postMessage({ op: "pages", pages: pages.size }, []);
  const obey = ({ data, ports: [direct] }: MessageEvent<ToElected>): void => {
    if (data.op === "lead") return;
    const { op, id } = data;
    const known = pages.get(id);
    if (op === "left") return known?.leave();
    if (known) return known.receive({ op: "ping" });
    const port = (direct ?? new BroadcastChannel(`${name} ${id}`)) as Port<ToWorker, ToPage> & { close(): void };
    const left = (): void => {
      pages.delete(id);
      port.close();
      report();
    };
    pages.set(id, new Page(port, left));
    port.postMessage({ op: "joined" }, []);
    report();
  };
  channel.onmessage = scope.onmessage = obey;
  channel.postMessage({ op: "ready" } satisfies FromElected);
  report();
}

interface SharedScope {
  onconnect?: (event: MessageEvent) => void;
}

if ("SharedWorkerGlobalScope" in globalThis) {
  (globalThis as SharedScope).onconnect = ({ ports }) => new Page(ports[0]!);
} else {
  const scope = globalThis as unknown as Port<ToElected | ToWorker, ToPage>;
  scope.onmessage = ({ data }) => {
    if (data.op === "lead") lead(data.name);
    else new Page(scope as Port<ToWorker, ToPage>).receive(data as ToWorker);
  };
}
