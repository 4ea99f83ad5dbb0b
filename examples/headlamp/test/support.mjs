// A stand-in for Headlamp's backend: it serves the page and the plugin, and forwards
// /clusters/main to a Kubernetes API.
import { spawn } from "node:child_process";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, request as send } from "node:http";
import { createServer as listen } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const at = (path) => fileURLToPath(new URL(path, import.meta.url));
export const binary = process.env.WATCHGLASS || at("../../../build/watchglass");

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json" };
const pages = at("../build/host");
const plugin = "/plugins/watchglass-headlamp/main.js";

function freePort() {
  return new Promise((resolve) => {
    const server = listen().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts a simulated cluster with a Kubernetes API. Resolves with its address and a function that stops it. */
export async function startCluster(pods) {
  const [page, api] = [await freePort(), await freePort()];
  const child = spawn(binary, ["demo", "--pods", String(pods), "--rate", "20", "--listen", `127.0.0.1:${page}`, "--kube-api", `127.0.0.1:${api}`], { stdio: "ignore" });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const ready = async () => (await fetch(`http://127.0.0.1:${page}/readyz`).catch(() => undefined))?.ok;
  while (!(await ready())) {
    if (child.exitCode !== null) throw new Error(`${binary} exited with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { api: `http://127.0.0.1:${api}`, async stop() { child.kill(); await exited; } };
}

/** Starts the backend. `cut` breaks all forwarded requests, and refuses others until it is called with false. */
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
    file = join(pages, "index.html"); // a route of the page
  }
  response.setHeader("content-type", types[extname(file)] ?? "application/octet-stream");
  createReadStream(file).pipe(response);
}
