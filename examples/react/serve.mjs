// Serves the page, and forwards its WebSocket to a connector:
//
//     make demo                                            in one terminal
//     node examples/react/serve.mjs http://127.0.0.1:8080  in another
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./build.mjs";

const dist = fileURLToPath(new URL("dist", import.meta.url));
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".wasm": "application/wasm" };
const connector = new URL(process.argv[2] ?? "http://127.0.0.1:8080");

await build(dist);
const server = createServer(async ({ url }, response) => {
  const path = new URL(url, "http://page").pathname; // URL removes ".." segments
  const file = path === "/" ? "/index.html" : path;
  try {
    const body = await readFile(join(dist, file));
    response.writeHead(200, { "Content-Type": types[extname(file)] ?? "text/plain" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
server.on("upgrade", ({ method, url, rawHeaders }, socket, head) => {
  const upstream = connect(Number(connector.port), connector.hostname, () => {
    const headers = rawHeaders.map((text, i) => (i % 2 ? `${text}\r\n` : `${text}: `)).join("");
    upstream.write(`${method} ${url} HTTP/1.1\r\n${headers}\r\n`);
    upstream.write(head);
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on("error", () => socket.destroy());
  socket.on("error", () => upstream.destroy());
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
