// The watchglass binary as a process that tests can kill.
import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";

/** The binary in WATCHGLASS, or the output of `make build`. */
export const binary = process.env.WATCHGLASS || fileURLToPath(new URL("../../../../build/watchglass", import.meta.url));

export const isBuilt = existsSync(binary);

export class Demo {
  #arguments;
  #process;

  /**
   * Starts a demo cluster on a free port. With a dataDir, the data of the demo's etcd survives
   * restarts.
   */
  static async start({ pods, rate, dataDir }) {
    const listen = `127.0.0.1:${await reservePort()}`;
    const demo = new Demo(listen, ["demo", "--listen", listen, "--pods", String(pods), "--rate", String(rate), ...(dataDir ? ["--data-dir", dataDir] : [])]);
    await demo.start();
    return demo;
  }

  constructor(listen, args) {
    this.url = `http://${listen}/`;
    this.#arguments = args;
  }

  /** Starts the process and waits until it is ready to serve. */
  async start(timeout = 180_000) {
    let output = "";
    this.#process = spawn(binary, this.#arguments, { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#process.stdout, this.#process.stderr]) stream.on("data", (data) => { output = (output + data).slice(-4000); });
    const deadline = Date.now() + timeout;
    while (!(await this.#isReady())) {
      if (this.#process.exitCode !== null) throw new Error(`${binary} ended:\n${output}`);
      if (Date.now() > deadline) throw new Error(`${binary} is not ready after ${timeout} ms:\n${output}`);
      await sleep(100);
    }
  }

  async kill(signal = "SIGKILL") {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill(signal);
    await ended;
  }

  async #isReady() {
    try {
      return (await fetch(`${this.url}readyz`)).ok;
    } catch {
      return false;
    }
  }
}

export function sleep(millis) {
  return new Promise((resolve) => setTimeout(resolve, millis));
}

/**
 * Reserves a TCP port until this process exits, like host/internal/freeport in Go. The range is
 * below the ports that the kernel assigns, and other tests skip a port whose UDP socket is bound.
 * The port therefore stays free between a kill and the next start.
 */
async function reservePort() {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
    const reservation = createSocket("udp4").unref();
    const listener = createServer();
    try {
      reservation.bind({ port, address: "127.0.0.1", exclusive: true });
      await once(reservation, "listening");
      listener.listen({ port, host: "127.0.0.1", exclusive: true });
      await once(listener, "listening");
    } catch {
      reservation.close();
      continue;
    }
    listener.close();
    await once(listener, "close");
    return port;
  }
  throw new Error("found no free TCP port between 12000 and 31999 on 127.0.0.1");
}
