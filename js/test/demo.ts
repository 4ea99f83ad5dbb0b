import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { skip as noModule } from "./cluster.js";
import { built } from "./paths.js";

const binary = built("watchglass");

/** The reason why tests with a real connector cannot run; false if they can. */
export const noDemo: string | false = noModule || (existsSync(binary) ? false : "build/watchglass is missing");

/** The reason why tests with a real edge cannot run; false if they can. */
export const noEdge: string | false = noModule || (existsSync(built("edge")) ? false : "build/edge is missing");

/**
 * Starts a connector of a simulated cluster. Returns the URLs of the connector's WebSocket and
 * Kubernetes API.
 */
export async function startDemo(t: TestContext, { pods = 10, rate = 0 } = {}): Promise<{ watch: string; kubernetes: string }> {
  const folder = mkdtempSync(join(tmpdir(), "watchglass-demo-"));
  const args = ["demo", "--pods", `${pods}`, "--rate", `${rate}`, "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--data-dir", join(folder, "data")];
  const [kubernetes, page] = await start(t, binary, args, [/--server (\S+)/, /watchglass demo: (\S+)/], () => rmSync(folder, { recursive: true }));
  return { watch: `${page!.replace("http", "ws")}/watch`, kubernetes: kubernetes! };
}

/**
 * Starts an edge that serves a simulated cluster. Returns its URL, and a token that grants access
 * to all objects.
 */
export async function startEdge(t: TestContext, { pods = 10 } = {}): Promise<{ url: string; token: string }> {
  const args = ["-root", built(".."), "-pods", `${pods}`, "-listen", "127.0.0.1:0", "-tls-listen", "127.0.0.1:0"];
  const [token, url] = await start(t, built("edge"), args, [/TOKEN=(\S+)/, /watchglass edge: (\S+)/]);
  return { url: url!, token: token! };
}

/**
 * Starts a program, which runs until the end of the test. Resolves with the first group of each
 * pattern, once the output matches all patterns.
 */
async function start(t: TestContext, program: string, args: string[], patterns: RegExp[], clean?: () => void): Promise<string[]> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((resolve) => child.on("exit", resolve));
  t.after(async () => {
    child.kill("SIGINT");
    await exited;
    clean?.();
  });
  let text = "";
  return new Promise<string[]>((resolve, reject) => {
    const collect = (chunk: Buffer): void => {
      text += chunk;
      const found = patterns.map((pattern) => pattern.exec(text)?.[1]);
      if (found.every((value) => value !== undefined)) resolve(found as string[]);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    void exited.then((code) => reject(new Error(`${program} exited with ${code}: ${text}`)));
  });
}
