// A real connector of a simulated cluster.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { TestContext } from "node:test";
import { built } from "./paths.js";

const binary = built("watchglass");
const real = process.env.WATCHGLASS_URL;

/** Why tests with the demo are skipped, or false. */
export const skip = real || existsSync(binary) ? false : "neither WATCHGLASS_URL nor build/watchglass is there";

/** Returns the address of the connector at $WATCHGLASS_URL, or starts the demo with 200 pods. */
export async function demo(t: TestContext, ...flags: string[]): Promise<string> {
  if (real) return real;
  const child = spawn(binary, ["demo", "--pods", "200", "--listen", "127.0.0.1:0", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill());
  return new Promise((resolve, reject) => {
    let text = "";
    const collect = (chunk: Buffer): void => {
      text += chunk;
      const found = /https?:\/\/[\w.:[\]-]+/.exec(text);
      if (found) resolve(`${found[0].replace(/^http/, "ws")}/watch`);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("exit", (code) => reject(new Error(`the demo exited with ${code}: ${text}`)));
  });
}
