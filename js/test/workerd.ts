import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

// The path of the binary itself. npm may install a wrapper script, and killing that script would
// leave the binary running.
const binary = createRequire(import.meta.url)("workerd").default as string;

export interface Workerd {
  /** The host and port of the only socket that workerd opens. */
  readonly address: string;
  readonly pid: number;
  /** Kills the process, and waits until it has ended. */
  kill(): Promise<void>;
}

/** Starts workerd with a configuration file, and waits until it listens. */
export async function serveWorkerd(config: string, ...flags: string[]): Promise<Workerd> {
  const child = spawn(binary, ["serve", config, "--control-fd=3", ...flags], { stdio: ["ignore", "pipe", "pipe", "pipe"] });
  // The output is not inherited, because the test runner waits until every process
  // has closed its standard output.
  child.stdout!.pipe(process.stdout);
  let complaint = "";
  child.stderr!.on("data", (chunk) => (complaint += chunk));
  const gone = once(child, "close");
  const [line] = await Promise.race([once(createInterface(child.stdio[3] as Readable), "line"), gone.then(() => Promise.reject(new Error(complaint)))]);
  return {
    pid: child.pid!,
    address: `127.0.0.1:${JSON.parse(line).port}`,
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
