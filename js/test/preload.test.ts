// Tests of how pages load the worker and the module: early with preload hints, and compiled while
// the module loads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Deferred } from "../src/deferred.js";
import { serve, setup, show, shows, skip } from "./browser.js";
import { packaged } from "./paths.js";

const hints = '<link rel="modulepreload" href="/worker.js"><link rel="preload" href="/watchglass.wasm" as="fetch" crossorigin>';

for (const worker of ["shared", "dedicated", "inline"] as const) {
  test(`a ${worker} engine uses the files that the page has preloaded`, { skip }, async (t) => {
    const requests: string[] = [];
    const { open } = await setup(t, (request, response) => {
      requests.push(request.url!);
      if (request.url !== "/") {
        response.setHeader("cache-control", "max-age=3600");
        return serve(request, response);
      }
      response.setHeader("content-type", "text/html");
      response.end(`<!doctype html><link rel="icon" href="data:,">${hints}<script type="module" src="/page.js"></script>`);
    });
    const page = await open();
    const loaded = (file: string) => requests.filter((url) => url === file).length;
    while (!loaded("/watchglass.wasm") || !loaded("/worker.js")) await page.waitForTimeout(10);
    await show(page, "/watch", worker);
    await shows(page, "web-1 Running, web-2 Pending");
    assert.deepEqual([loaded("/watchglass.wasm"), loaded("/worker.js")], [1, 1]);
  });
}

/**
 * Makes a script report to the server how it compiles modules: with a request for
 * /compileStreaming or /compile.
 */
const report = `for (const name of ["compileStreaming", "compile"]) {
  const compile = WebAssembly[name];
  WebAssembly[name] = (source) => { void fetch("/" + name); return compile.call(WebAssembly, source); };
}\n`;

/**
 * Returns a handler that serves the module as `type`, and the list of the ways in which scripts
 * have compiled it. If `halves` is set, the second half of the module follows only after
 * compilation has begun.
 */
function moduleServer(type: string | undefined, halves = false): { handler: typeof serve; compiled: string[] } {
  const compiled: string[] = [];
  const begun = new Deferred();
  const handler: typeof serve = (request, response) => {
    const file = packaged("dist", request.url!);
    if (/^\/compile/.test(request.url!)) {
      compiled.push(request.url!.slice(1));
      begun.resolve();
      response.end();
    } else if (request.url === "/watchglass.wasm") {
      const module = readFileSync(file);
      const half = module.length >> 1;
      if (type) response.setHeader("content-type", type);
      response.write(module.subarray(0, half));
      void (halves ? begun.promise : Promise.resolve()).then(() => response.end(module.subarray(half)));
    } else if (request.url === "/worker.js" || request.url === "/start.js") {
      response.setHeader("content-type", "text/javascript");
      response.end(report + readFileSync(file, "utf8"));
    } else {
      serve(request, response);
    }
  };
  return { handler, compiled };
}

for (const worker of ["shared", "dedicated", "inline"] as const) {
  test(`an engine (${worker}) compiles the module while it loads`, { skip, timeout: 120_000 }, async (t) => {
    const { handler, compiled } = moduleServer("application/wasm", true);
    const { open } = await setup(t, handler);
    const page = await open();
    await show(page, "/watch", worker);
    await shows(page, "web-1 Running, web-2 Pending");
    assert.deepEqual(compiled, ["compileStreaming"]);
  });
}

// Browsers refuse to compile a response of any other type while it loads.
for (const type of ["application/octet-stream", "application/wasm; charset=utf-8", undefined]) {
  test(`an engine compiles a module that the server sends ${type ? `as ${type}` : "without a type"}`, { skip, timeout: 120_000 }, async (t) => {
    const { handler, compiled } = moduleServer(type);
    const { open } = await setup(t, handler);
    const page = await open();
    await show(page, "/watch", "shared");
    await shows(page, "web-1 Running, web-2 Pending");
    assert.deepEqual(compiled, ["compile"]);
  });
}
