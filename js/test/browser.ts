// Runs pages in a real browser. The pages load the built package and read from a test connector.
// The browser is the Chromium at $CHROMIUM, or with BROWSER=firefox the Firefox at $FIREFOX. Tests
// are skipped without a browser or without dist/.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, normalize } from "node:path";
import { after, type TestContext } from "node:test";
import { chromium, firefox, type Browser, type BrowserContext, type LaunchOptions, type Page } from "playwright-core";
import type * as api from "../src/index.js";
import { args } from "./chromium.mjs";
import { TestConnector } from "./connector.js";
import { packaged } from "./paths.js";

export const inFirefox = process.env.BROWSER === "firefox";
const executablePath = inFirefox ? (process.env.FIREFOX ?? "/usr/bin/firefox-esr") : (process.env.CHROMIUM ?? "/usr/bin/chromium");
const dist = packaged("dist");
/** The reason why tests in a browser cannot run; false if they can. */
export const skip = !existsSync(executablePath)
  ? `no browser at ${executablePath}`
  : !existsSync(join(dist, "watchglass.wasm"))
    ? 'dist/ is not built; run "npm run build" after "make wasm"'
    : false;

/** The reason why tests that need Chromium's DevTools or switches cannot run; false if they can. */
export const skipUnlessChromium = skip || (inFirefox ? "the test needs Chromium" : false);

/**
 * The path of a complete Chromium, for tests of the back-forward cache, which the headless shell
 * lacks. Undefined if none is installed.
 */
export const wholeChromium = [executablePath, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path) && !path.endsWith("-headless-shell"));

declare global {
  // The global variables of a page.
  var watchglass: typeof api;
  var wg: api.Watchglass;
  var pods: api.Collection;
  var view: api.View;
}

/** Launches the browser under test. */
export const launch = (options: LaunchOptions = {}): Promise<Browser> => (inFirefox ? launchFirefox(options) : chromium.launch({ executablePath, args, ...options }));

/**
 * Launches a stock Firefox, which Playwright drives with WebDriver BiDi. Playwright sends each new
 * context a command that Firefox ESR does not support. No test needs this command, so this function
 * suppresses it.
 */
async function launchFirefox(options: LaunchOptions): Promise<Browser> {
  const browser = await firefox.launch({ executablePath, channel: "moz-firefox", ...options });
  interface Session {
    send(method: string, params?: object): Promise<unknown>;
  }
  const { _connection: connection } = browser as unknown as { _connection: { toImpl(browser: Browser): { _browserSession: Session } } };
  const session = connection.toImpl(browser)._browserSession;
  const send = session.send.bind(session);
  session.send = async (method, params) => (method === "emulation.setMediaFeaturesOverride" ? {} : send(method, params));
  return browser;
}

let launched: Promise<Browser> | undefined;
after(async () => (await launched)?.close());

const types: Record<string, string> = { ".js": "text/javascript", ".wasm": "application/wasm", ".map": "application/json" };

/** The path of the request that {@link block} sends. */
export const unanswered = "/unanswered";

/**
 * A script that blocks the thread of a page or a worker until the test ends. The script waits for a
 * response that never arrives. An endless loop would take CPU time from other tests.
 */
export const block = `{
  const request = new XMLHttpRequest();
  request.open("GET", new URL("${unanswered}", location.origin), false);
  request.send();
}`;

export function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = normalize(new URL(request.url!, "http://test").pathname);
  const file = join(dist, path);
  response.setHeader("access-control-allow-origin", "*"); // for sandboxed frames, whose origin is opaque
  if (path === "/") {
    response.setHeader("content-type", "text/html");
    response.end('<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>');
  } else if (path === "/page.js") {
    response.setHeader("content-type", "text/javascript");
    response.end('import * as w from "./index.js"; window.watchglass = w');
  } else if (path === unanswered) {
    // The connector closes the request when the test ends.
  } else if (existsSync(file)) {
    response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
    response.end(readFileSync(file));
  } else {
    response.statusCode = 404;
    response.end();
  }
}

export interface Setup {
  connector: TestConnector;
  /** Opens another tab. */
  open(): Promise<Page>;
  browser: Browser;
  context: BrowserContext;
  /**
   * Returns the errors and unhandled rejections of the pages that {@link open} opened, and forgets
   * them. A test that provokes such errors calls this function to check them. Errors that no test
   * takes fail the test.
   */
  takePageErrors(): string[];
}

/**
 * Records the uncaught errors and unhandled rejections of pages, and fails the test if any remain at
 * its end.
 */
export function watchErrors(t: TestContext): { add(page: Page): void; take(): string[] } {
  const errors: string[] = [];
  t.after(() => assert.deepEqual(errors, [], "the pages have no uncaught errors"));
  return {
    add: (page) =>
      void page.on("pageerror", ({ stack, message }) => {
        // Playwright also reports messages of Firefox, such as about a refused connection. They have
        // no stack.
        if (!(inFirefox && stack?.endsWith("\nundefined"))) errors.push(stack || message);
      }),
    take: () => errors.splice(0),
  };
}

export async function setup(t: TestContext, handler = serve, own?: Browser): Promise<Setup> {
  const connector = await TestConnector.start(handler);
  connector.put("default/web-1", "web", "Running");
  connector.put("default/web-2", "web", "Pending");
  const browser = own ?? (await (launched ??= launch()));
  const context = await browser.newContext();
  t.after(async () => {
    await context.close();
    await connector.close();
  });
  const errors = watchErrors(t); // checks the errors after the context is closed
  const open = async (): Promise<Page> => {
    const page = await context.newPage();
    page.setDefaultTimeout(120_000); // replacing a worker takes 20 s, and longer on a busy machine
    errors.add(page);
    page.on("console", (message) => message.type() === "error" && t.diagnostic(`console: ${message.text()}`));
    await page.goto(`http://${connector.address}/`);
    await page.waitForFunction(() => globalThis.watchglass !== undefined);
    return page;
  };
  return { connector, open, browser, context, takePageErrors: errors.take };
}

/** Opens pods and a view of them in a page. */
export async function show(page: Page, url: string, worker?: "shared" | "dedicated" | "inline"): Promise<void> {
  await page.evaluate(
    async ({ url, worker }) => {
      globalThis.wg = await watchglass.connect(url, { token: "t0ken", ...(worker && { worker }) });
      globalThis.pods = wg.collection("v1/pods");
      globalThis.view = pods.view({ sort: "name" });
      await view.ready;
    },
    { url, worker },
  );
}

/** Waits until the page's view has these rows. `rows` contains the name and one cell of each. */
export async function shows(page: Page, rows: string, column = 0): Promise<void> {
  await page.waitForFunction(({ rows, column }) => view.snapshot.rows.map((r) => `${r.name} ${r.columns[column]}`).join(", ") === rows, { rows, column });
}
