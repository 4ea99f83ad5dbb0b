// Tests the package with Vite's development server and its build, in several major versions.

import { test } from "node:test";
import { html, script, showsRows, strictPolicy, workspace } from "./support.mjs";

const space = workspace("vite");

/**
 * Lets Vite find and bundle the dependencies of the page. If Vite finds a dependency while the page
 * is open, it reloads the page with another URL of the worker. The reloaded page then opens another
 * connection.
 */
async function settle(server) {
  await server.warmupRequest("/main.js");
  await server.waitForRequestsIdle();
}

for (const version of ["5", "6", "7", "8"]) {
  const name = `vite-${version}`;
  const quiet = { logLevel: "silent", server: { host: "127.0.0.1", port: 0 }, configFile: false };
  const page = () => ({ "index.html": html("/main.js"), "main.js": script(space.url) });

  test(`${name} serves a page in development without configuration`, { timeout: 120_000 }, async () => {
    const vite = await import(name);
    const server = await vite.createServer({ ...quiet, root: space.project(`${name}-dev`, page()) });
    await server.listen();
    await settle(server);
    try {
      await showsRows(space, `http://127.0.0.1:${server.httpServer.address().port}/`);
    } finally {
      await server.close();
    }
  });

  test(`${name} serves a page in development whose engine runs in its own thread`, { timeout: 120_000 }, async () => {
    const vite = await import(name);
    const root = space.project(`${name}-inline`, { "index.html": html("/main.js"), "main.js": script(space.url, '{ worker: "inline" }') });
    const server = await vite.createServer({ ...quiet, root });
    await server.listen();
    await settle(server);
    try {
      await showsRows(space, `http://127.0.0.1:${server.httpServer.address().port}/`, { connections: 2 });
    } finally {
      await server.close();
    }
  });

  test(`${name} builds a page, which runs below a base path and a strict policy`, { timeout: 120_000 }, async () => {
    const vite = await import(name);
    const root = space.project(`${name}-build`, page());
    await vite.build({ ...quiet, root, base: "/app/" });
    const server = await vite.preview({ ...quiet, root, base: "/app/", preview: { host: "127.0.0.1", port: 0 } });
    try {
      await showsRows(space, `http://127.0.0.1:${server.httpServer.address().port}/app/`, { policy: strictPolicy(space.url) });
    } finally {
      server.httpServer.closeAllConnections();
      await new Promise((resolve) => server.httpServer.close(resolve));
    }
  });
}
