// Tests of preload hints, which make a page load the worker and the module early.

import assert from "node:assert/strict";
import { test } from "node:test";
import { serve, setup, show, shows, skip } from "./browser.js";

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
