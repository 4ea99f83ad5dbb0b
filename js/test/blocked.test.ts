// Tests of pages that do not process messages, as when the browser freezes a tab, beside pages that
// do.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { block, serve, setup, show, shows, skipUnlessChromium, unanswered, type Setup } from "./browser.js";

const options = { skip: skipUnlessChromium, timeout: 120_000 };

interface Blocked extends Setup {
  /** The page that is not blocked. */
  page: Page;
  /** The page whose thread is blocked. It has a view, a stalled watch and an object open. */
  blocked: Page;
  /** Continues the thread of the blocked page. */
  unblock(): void;
}

async function setupBlocked(t: TestContext): Promise<Blocked> {
  let arrived!: (response: ServerResponse) => void;
  const request = new Promise<ServerResponse>((resolve) => (arrived = resolve));
  const made = await setup(t, (request, response) => (request.url === unanswered ? arrived(response) : serve(request, response)));
  const [page, blocked] = [await made.open(), await made.open()];
  await show(page, "/watch");
  await blocked.evaluate(countMessages);
  await show(blocked, "/watch");
  await blocked.evaluate(async () => {
    const object = wg.object("v1/pods", "default/web-1");
    const events = pods.watch({ sendInitialEvents: true, credit: 10 })[Symbol.asyncIterator]();
    Object.assign(globalThis, { object, events });
    await Promise.all([object.ready, events.next()]);
  });
  assert.deepEqual(await opened(page), { collections: 2, watches: 1, views: 2, references: 1 });
  await blocked.evaluate((block) => void setTimeout(block), block);
  const response = await request;
  return { ...made, page, blocked, unblock: () => void response.end() };
}

/** Counts the messages with frames that the page receives from its worker. */
function countMessages(): void {
  const received = { messages: 0, bytes: 0 };
  const { set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage")!;
  Object.defineProperty(MessagePort.prototype, "onmessage", {
    set(this: MessagePort, handler: (event: MessageEvent) => void) {
      set!.call(this, (event: MessageEvent) => {
        if (event.data.op === "frames") {
          received.messages++;
          received.bytes += event.data.frames.length;
        }
        handler(event);
      });
    },
  });
  Object.assign(globalThis, { received });
}

/** Returns how much the pages of the engine have open. */
const opened = (page: Page) =>
  page.evaluate(async () => {
    const { collections, watches, views, "objects.references": references = 0 } = await wg.inspect();
    return { collections, watches, views, references };
  });

/** Makes 100 changes per round. The page receives the changes of each round before the next round. */
async function change({ connector, page }: Blocked, rounds: number): Promise<void> {
  connector.padding = "x".repeat(1000);
  for (let i = 0; i < 100 * rounds; i++) {
    connector.put("default/web-1", "web", `Phase ${i}`);
    if (i % 100 === 99) await page.evaluate((rv) => pods.waitFor(rv), String(connector.rv));
  }
  await shows(page, `web-1 Phase ${100 * rounds - 1}, web-2 Pending`);
  assert.equal(await page.evaluate(() => pods.status.state), "live");
}

test("few messages wait for a blocked page, other pages stay current, and the page continues", options, async (t) => {
  const world = await setupBlocked(t);
  const { connector, blocked, unblock } = world;
  await change(world, 100);
  unblock();
  await shows(blocked, "web-1 Phase 9999, web-2 Pending");
  const { state, object, version, received } = await blocked.evaluate(() => {
    const { object, received } = globalThis as any;
    return { state: pods.status.state, object: object.current.status.phase, version: pods.progress.resourceVersion, received };
  });
  assert.deepEqual({ state, object, version }, { state: "live", object: "Phase 9999", version: String(connector.rv) });
  assert.ok(received.messages < 50, `${received.messages} messages`);
  assert.ok(received.bytes < 200_000, `${received.bytes} bytes`);
});

test("a blocked page that is closed releases what it has open", options, async (t) => {
  const world = await setupBlocked(t);
  const { page, blocked } = world;
  await change(world, 10);
  await blocked.close();
  while ((await opened(page)).collections !== 1) await page.waitForTimeout(20);
  assert.deepEqual(await opened(page), { collections: 1, watches: 0, views: 1, references: 0 });
});
