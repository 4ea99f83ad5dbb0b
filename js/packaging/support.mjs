// Common functions of the packaging tests, which provide the packed tarball, projects that depend
// on it, a connector with two pods, and a browser.
//
// Rollup and Next.js are pinned to releases whose packages for all platforms can be installed. `npm
// ci` refuses a lock file that lacks the package of a platform.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { args } from "../test/chromium.mjs";

export const here = dirname(fileURLToPath(import.meta.url));
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/**
 * Prepares the tests of a file: packs the package and starts a connector. `name` is the folder in
 * which the tests create their projects.
 */
export function workspace(name) {
  const work = join(here, "build", name);
  const space = {
    dist: join(work, "package/dist"),
    /** The URL of the connector, which serves the pods that {@link rows} names. */
    url: "",
    connector: undefined,
    /** Creates a project in which the package is installed, and returns its folder. */
    project(name, files) {
      const folder = join(work, name);
      mkdirSync(join(folder, "node_modules"), { recursive: true });
      execFileSync("cp", ["-R", join(work, "package"), join(folder, "node_modules/watchglass")]);
      for (const [file, text] of Object.entries({ "package.json": '{"private":true,"type":"module"}', ...files })) {
        mkdirSync(dirname(join(folder, file)), { recursive: true });
        writeFileSync(join(folder, file), text);
      }
      return folder;
    },
  };
  before(async () => {
    rmSync(work, { recursive: true, force: true });
    mkdirSync(work, { recursive: true });
    // Scripts are disabled, because they would write into the folder of the package, which other
    // test files pack concurrently.
    const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", work], { cwd: join(here, ".."), stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
    execFileSync("tar", ["-xzf", JSON.parse(packed)[0].filename], { cwd: work });
    const bundle = join(work, "connector.mjs");
    await build({ entryPoints: [join(here, "../test/connector.ts")], outfile: bundle, bundle: true, format: "esm", platform: "node", packages: "external", logLevel: "warning" });
    const { TestConnector } = await import(pathToFileURL(bundle).href);
    space.connector = await TestConnector.start();
    space.connector.put("default/web-1", "web", "Running");
    space.connector.put("default/web-2", "web", "Pending");
    space.url = `ws://${space.connector.address}/watch`;
  });
  after(() => space.connector?.close());
  return space;
}

/** The text that a page or a program shows once it has received the connector's pods. */
export const rows = "rows: web-1 web-2";

/** Returns the program of a page, which shows the names of the pods. */
export const script = (url, options = "{}") => `import { connect } from "watchglass";
  const show = (text) => { document.querySelector("p").textContent = text; };
  async function main() {
    const wg = await connect(${JSON.stringify(url)}, { identity: "everyone", ...${options} });
    const view = wg.collection("v1/pods").view({ sort: "name" });
    await view.ready;
    show("rows: " + view.snapshot.rows.map((row) => row.name).join(" "));
  }
  main().catch((error) => show("failed: " + error.message));`;

/** Returns the HTML of a page that loads a script. */
export const html = (src, head = "") => `<!doctype html><link rel="icon" href="data:,">${head}<p>loading</p><script type="module" src="${src}"></script>`;

/** Returns the strictest content security policy that the package supports. */
export const strictPolicy = (url) => `default-src 'none'; img-src data:; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ${new URL(url).origin}; worker-src 'self'`;

let launched;
after(async () => (await launched)?.close());

/**
 * Opens a page in two tabs, and checks that both show the pods without errors on the console, such
 * as violations of the policy. By default, the tabs must share one connection, both with SharedWorker
 * and without. Without SharedWorker, they elect a page that runs the worker.
 */
export async function showsRows(space, at, { policy, connections = 1 } = {}) {
  launched ??= chromium.launch({ executablePath, args });
  for (const sharedWorkers of connections === 1 ? [true, false] : [true]) {
    const context = await (await launched).newContext();
    try {
      if (!sharedWorkers) await context.addInitScript(() => delete globalThis.SharedWorker);
      if (policy) {
        await context.route(at, async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": policy } });
        });
      }
      const before = space.connector.hellos.length;
      for (let tab = 0; tab < 2; tab++) {
        const page = await context.newPage();
        const errors = [];
        page.on("pageerror", (error) => errors.push(String(error)));
        page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
        await page.goto(at);
        await page.waitForFunction(() => /^(rows|failed)/.test(document.querySelector("p")?.textContent));
        assert.equal(await page.textContent("p"), rows, errors.join("; "));
        assert.deepEqual(errors, []);
      }
      assert.equal(space.connector.hellos.length - before, connections, `connections ${sharedWorkers ? "with" : "without"} SharedWorker`);
    } finally {
      await context.close();
    }
  }
}

const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };

/**
 * Serves a folder while `use` runs. `use` receives the origin of the server. `policy` is the
 * content security policy, or undefined for none.
 */
export async function served(folder, policy, use) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://test");
    const file = join(folder, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end();
    if (policy) response.setHeader("content-security-policy", policy);
    response.setHeader("access-control-allow-origin", "*"); // for pages of other origins
    response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
