// Tests of the connection of a page to its worker, with a fake worker.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { WatchglassError } from "../src/errors.js";
import type { Membership } from "../src/member.js";
import { attachWorker, type ToPage, type ToWorker, type WorkerPort } from "../src/port.js";

const options = { url: "", identity: "", token: "", wasm: undefined, maxBytes: undefined, maxHistory: undefined, kubernetes: undefined };
const events = { frames() {}, restarted() {}, failed() {}, token: async () => "" };
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

// A worker that cannot start is reported with a WatchglassError, and leaves no timers
// running.
for (const [what, start] of Object.entries<() => WorkerPort>({
  "be made": () => {
    throw new Error("the policy of the page forbids workers");
  },
  "be spoken to": () => ({
    onmessage: null,
    onfailure: null,
    postMessage() {
      throw new Error("this cannot be cloned");
    },
    close() {},
  }),
})) {
  test(`a worker that cannot ${what} is reported, and leaves no resources behind`, async () => {
    const before = timers();
    const workers = [{ shared: false, start }];
    await assert.rejects(attachWorker({ ...options, workers }, events), (error) => error instanceof WatchglassError && /^the worker cannot be started: (the policy|this cannot)/.test(error.message));
    assert.equal(timers(), before);
  });
}

/** A worker whose responses the test sets. */
class FakeWorker implements WorkerPort {
  onmessage: ((event: MessageEvent<ToPage>) => void) | null = null;
  onfailure: ((message: string) => void) | null = null;
  readonly received: ToWorker["op"][] = [];
  attaches = true;
  pongs = true;
  closed = false;

  postMessage(message: ToWorker): void {
    this.received.push(message.op);
    if (message.op === "attach" && this.attaches) this.say({ op: "attached", member: 7, lock: "" });
    if (message.op === "ping" && this.pongs) this.say({ op: "pong" });
  }

  say(data: ToPage): void {
    queueMicrotask(() => this.onmessage?.({ data } as MessageEvent<ToPage>));
  }

  close(): void {
    this.closed = true;
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function ticks(t: TestContext, n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    t.mock.timers.tick(5000);
    await settle();
  }
}

test("an unresponsive worker is reported and replaced by a dedicated one", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const [shared, dedicated] = [new FakeWorker(), new FakeWorker()];
  const seen: string[] = [];
  const workers = [
    { shared: true, start: () => shared },
    { shared: false, start: () => dedicated },
  ];
  const attached = await attachWorker({ ...options, workers }, {
    ...events,
    silent: (message) => seen.push(`silent: ${message}`),
    restarted: (message) => seen.push(`restarted: ${message}`),
  });
  await ticks(t, 20);
  assert.deepEqual(seen, [], "a responsive worker stays");
  shared.pongs = false;
  await ticks(t, 3);
  assert.deepEqual(seen, []);
  await ticks(t, 2);
  const why = "the worker has not responded for 15 s";
  assert.deepEqual(seen, [`silent: ${why}`, `restarted: ${why}`]);
  assert.ok(shared.closed && !dedicated.closed);
  assert.equal(dedicated.received[0], "attach");
  await ticks(t, 20);
  assert.equal(seen.length, 2);
  attached.leave();
  assert.equal(dedicated.received.at(-1), "leave");
});

test("a page acknowledges the messages of each worker in groups of eight", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const [shared, dedicated] = [new FakeWorker(), new FakeWorker()];
  const workers = [shared, dedicated].map((worker) => ({ shared: worker === shared, start: () => worker }));
  const attached = await attachWorker({ ...options, workers }, events);
  const acks = async (worker: FakeWorker, messages: number): Promise<number> => {
    for (let i = 0; i < messages; i++) worker.say({ op: "frames", frames: new Uint8Array() });
    await settle();
    return worker.received.filter((op) => op === "ack").length;
  };
  assert.deepEqual([await acks(shared, 7), await acks(shared, 1), await acks(shared, 15)], [0, 1, 2]);
  shared.pongs = false;
  await ticks(t, 5);
  assert.ok(shared.closed);
  assert.deepEqual([await acks(dedicated, 7), await acks(dedicated, 1)], [0, 1], "the count begins again");
  attached.leave();
});

test("a page does not wait for an unresponsive worker", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const [hung, good] = [new FakeWorker(), new FakeWorker()];
  hung.attaches = hung.pongs = false;
  const workers = [
    { shared: true, start: () => hung },
    { shared: false, start: () => good },
  ];
  const attached = attachWorker({ ...options, workers }, events);
  await settle();
  await ticks(t, 4);
  assert.equal((await attached).member, 7);
  assert.ok(hung.closed);

  const alone = attachWorker({ ...options, workers: [{ shared: true, start: () => Object.assign(new FakeWorker(), { attaches: false, pongs: false }) }] }, events);
  alone.catch(() => {});
  await settle();
  await ticks(t, 4);
  await assert.rejects(alone, /has not responded for 15 s/);
});

test("the next way to start a worker is tried when its script cannot be loaded", async () => {
  const [missing, good] = [new FakeWorker(), new FakeWorker()];
  missing.attaches = false;
  const workers = [missing, good].map((worker) => ({ shared: true, start: () => worker }));
  const attached = attachWorker({ ...options, workers }, events);
  await settle();
  missing.onfailure!("the worker script cannot be loaded");
  assert.equal((await attached).member, 7);
  assert.ok(missing.closed);
  (await attached).leave();
});

type Phase = "starting" | "attaching" | "attached" | "left";
type Input = "started" | "not started" | "script failed" | "attached" | "failed" | "silent" | "left";

/**
 * A page whose workers the test controls. The phase of the page is derived from the messages that
 * the workers receive.
 */
class Page {
  #starts: { resolve(worker: FakeWorker): void; reject(error: Error): void }[] = [];
  #worker: FakeWorker | undefined;
  #membership: Promise<Membership>;
  #failed = false;

  constructor() {
    const start = (): Promise<WorkerPort> => new Promise((resolve, reject) => this.#starts.push({ resolve, reject }));
    const workers = [1, 2, 3].map(() => ({ shared: false, start }));
    this.#membership = attachWorker({ ...options, workers }, { ...events, failed: () => (this.#failed = true) });
    this.#membership.catch(() => {});
  }

  /** The number of workers that are being started. */
  get starts(): number {
    return this.#starts.length;
  }

  /**
   * Brings the page to a phase. It first attaches the page, because only an attached page can
   * leave.
   */
  async reach(phase: Phase, t: TestContext): Promise<void> {
    await settle();
    for (const input of ["started", "attached"] as const) await this.apply(input, t);
    if (phase === "starting" || phase === "attaching") await this.apply("silent", t);
    if (phase === "attaching") await this.apply("started", t);
    if (phase === "left") await this.apply("left", t);
  }

  async apply(input: Input, t: TestContext): Promise<void> {
    const worker = this.#worker;
    if (input === "started") this.#starts.shift()?.resolve((this.#worker = Object.assign(new FakeWorker(), { attaches: false, pongs: false })));
    if (input === "not started") this.#starts.shift()?.reject(new Error("it cannot be created"));
    if (input === "script failed") worker?.onfailure?.("its script cannot be loaded");
    if (input === "attached") worker?.say({ op: "attached", member: 7, lock: "" });
    if (input === "failed") worker?.say({ op: "failed", message: "the engine cannot be started" });
    if (input === "silent") await ticks(t, 4);
    if (input === "left") (await this.#membership).leave();
    await settle();
  }

  /**
   * Returns the phase. If a worker is being started, this method completes its start, because only
   * a started worker receives messages.
   */
  async phase(t: TestContext): Promise<Phase> {
    const starting = this.#starts.length > 0;
    await this.apply("started", t);
    const { received, onfailure } = this.#worker!;
    if (this.#failed || received.at(-1) === "leave" || received.length === 0) return "left";
    return starting ? "starting" : onfailure ? "attaching" : "attached";
  }
}

test("each input leads a page from each phase to the one of the table", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const table: Record<Phase, Partial<Record<Input, Phase>>> = {
    starting: { started: "attaching", "not started": "starting", silent: "starting", failed: "starting", left: "left" },
    attaching: { "script failed": "starting", attached: "attached", failed: "left", silent: "starting", left: "left" },
    attached: { "script failed": "attached", attached: "attached", failed: "left", silent: "starting", left: "left" },
    left: { "script failed": "left", attached: "left", failed: "left", silent: "left", left: "left" },
  };
  for (const [from, row] of Object.entries(table)) {
    for (const [input, to] of Object.entries(row)) {
      const page = new Page();
      await page.reach(from as Phase, t);
      await page.apply(input as Input, t);
      assert.equal(await page.phase(t), to, `${from}, ${input}`);
    }
  }
});

test("a page that left while a worker starts does not start another one", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const page = new Page();
  await page.reach("starting", t);
  await page.apply("left", t);
  await page.apply("not started", t);
  assert.equal(page.starts, 0);
});
