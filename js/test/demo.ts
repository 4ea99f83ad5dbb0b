import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { skip as noModule } from "./cluster.js";
import { built } from "./paths.js";

const binary = built("watchglass");

/** Why tests with a real connector cannot run; false if they can. */
export const noDemo: string | false = noModule || (existsSync(binary) ? false : "build/watchglass is missing");

/** Starts a connector of a simulated cluster. Returns the URLs of its WebSockets and of its Kubernetes API. */
export async function startDemo(t: TestContext, { pods = 10, rate = 0 } = {}): Promise<{ watch: string; kubernetes: string }> {
  const folder = mkdtempSync(join(tmpdir(), "watchglass-demo-"));
  const child = spawn(binary, ["demo", "--pods", `${pods}`, "--rate", `${rate}`, "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--data-dir", join(folder, "data")], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((resolve) => child.on("exit", resolve));
  t.after(async () => {
    child.kill();
    await exited;
    rmSync(folder, { recursive: true });
  });
  let text = "";
  const [kubernetes, page] = await new Promise<string[]>((resolve, reject) => {
    const collect = (chunk: Buffer): void => {
      text += chunk;
      const found = [/--server (\S+)/, /watchglass demo: (\S+)/].map((pattern) => pattern.exec(text)?.[1]);
      if (found.every((url) => url !== undefined)) resolve(found);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    void exited.then((code) => reject(new Error(`the demo exited with ${code}: ${text}`)));
  });
  return { watch: `${page!.replace("http", "ws")}/watch`, kubernetes: kubernetes! };
}
