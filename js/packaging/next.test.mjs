// Tests the package in Next.js with the app router, which first renders a page on the server.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { here, showsRows, strictPolicy, workspace } from "./support.mjs";

const space = workspace("next");
process.env.NEXT_TELEMETRY_DISABLED = "1";

const app = (url) => ({
  "next.config.mjs": `export default { turbopack: { root: ${JSON.stringify(here)} }, outputFileTracingRoot: ${JSON.stringify(here)} };`,
  "app/layout.jsx": "export default function Layout({ children }) { return <html><body>{children}</body></html>; }",
  "app/page.jsx": `import { Pods } from "./pods";
    export default function Page() { return <Pods />; }`,
  // Next.js adds the nonce of a request's policy to its scripts, if it renders the page per request.
  "app/strict/page.jsx": `import { Pods } from "../pods";
    export const dynamic = "force-dynamic";
    export default function Page() { return <Pods />; }`,
  "app/pods.jsx": `"use client";
    import { createClient } from "watchglass";
    import { useView, WatchglassProvider } from "watchglass/react";
    const client = createClient(${JSON.stringify(url)}, { identity: "everyone" });
    function Names() {
      const { rows, view, error } = useView("v1/pods", { sort: "name" });
      return <p>{error ? "failed: " + error.message : view === "ready" ? "rows: " + rows.map((row) => row.name).join(" ") : "loading"}</p>;
    }
    export function Pods() { return <WatchglassProvider client={client}><Names /></WatchglassProvider>; }`,
});

test("Next.js builds a page, renders it on the server, hydrates it without errors and runs it", { timeout: 300_000 }, async () => {
  const dir = space.project("app", app(space.url));
  const before = space.connector.hellos.length;
  const next = join(here, "node_modules/next/dist/bin/next");
  execFileSync(process.execPath, [next, "build"], { cwd: dir, stdio: ["ignore", "ignore", "inherit"] });
  assert.equal(space.connector.hellos.length, before, "the build connects");
  const { default: createNext } = await import("next");
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  const site = createNext({ dev: false, dir, hostname: "127.0.0.1", port, quiet: true });
  try {
    await site.prepare();
    const handle = site.getRequestHandler();
    server.on("request", (request, response) => {
      if (request.url.startsWith("/strict")) {
        const nonce = randomBytes(16).toString("base64");
        request.headers["content-security-policy"] = strictPolicy(space.url).replace("script-src 'self'", `script-src 'nonce-${nonce}' 'strict-dynamic'`);
        response.setHeader("content-security-policy", request.headers["content-security-policy"]);
      }
      return handle(request, response);
    });
    const origin = `http://127.0.0.1:${port}/`;
    assert.match(await (await fetch(origin)).text(), /<p>loading<\/p>/);
    await showsRows(space, origin);
    assert.match(await (await fetch(`${origin}strict`)).text(), /<p>loading<\/p>/);
    await showsRows(space, `${origin}strict`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await site.close();
  }
});
