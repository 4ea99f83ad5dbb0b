// A replacement for Headlamp's backend, for tests. It serves the page and the plugin, and forwards
// /clusters/main to a Kubernetes API.
import { spawn } from "node:child_process";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, request as send } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const at = (path) => fileURLToPath(new URL(path, import.meta.url));
export const binary = process.env.WATCHGLASS || at("../../../build/watchglass");

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json" };
const pages = at("../build/host");
const plugin = "/plugins/watchglass-headlamp/main.js";

/** Starts a simulated cluster with a Kubernetes API. Resolves with its address and a function that stops it. */
export async function startCluster(pods) {
  const args = ["demo", "--pods", String(pods), "--rate", "20", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0"];
  const child = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  let output = "";
  const printed = new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      const [, api, page] = /kubectl --server (\S+).*watchglass demo: (\S+)/s.exec(output) ?? [];
      if (page) resolve({ api, page });
    });
    exited.then(() => reject(new Error(`${binary} exited with ${child.exitCode} and printed no addresses:\n${output}`)));
  });
  const { api, page } = await printed;
  while (!(await fetch(new URL("readyz", page)).catch(() => undefined))?.ok) {
    if (child.exitCode !== null) throw new Error(`${binary} exited with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { api, async stop() { child.kill(); await exited; } };
}

/**
 * Starts the backend. Its method `cut` aborts all forwarded requests, and refuses new ones until it
 * is called with false.
 */
export async function startBackend(api) {
  const forwarded = new Set();
  let isCut = false;
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url, "http://headlamp");
    const [, path] = /^\/clusters\/main(\/.*)$/.exec(pathname) ?? [];
    if (path === undefined) return serve(pathname, response);
    if (isCut) return void response.destroy();
    if (request.method === "POST") return void response.writeHead(201, { "content-type": "application/json" }).end('{"status":{"allowed":true,"resourceRules":[]}}');
    const upstream = send(api + path + search, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    response.on("close", () => (upstream.destroy(), forwarded.delete(response)));
    forwarded.add(response);
    upstream.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut(on = true) {
      isCut = on;
      if (on) for (const response of forwarded) response.destroy();
    },
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function serve(pathname, response) {
  let file = pathname === plugin ? at("../dist/main.js") : join(pages, pathname);
  if (!existsSync(file) || !statSync(file).isFile()) {
    if (extname(pathname)) return void response.writeHead(404).end();
    file = join(pages, "index.html"); // other paths without an extension are routes of the page
  }
  response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
  createReadStream(file).pipe(response);
}
