// Runs a dry deployment with wrangler, Cloudflare's tool. A dry deployment requires no account.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const cwd = fileURLToPath(new URL(".", import.meta.url));
/** Cloudflare's size limit for a worker, and the smallest plan's former limit after gzip. */
const maxKiB = 64 * 1024;
const maxPackedKiB = 3 * 1024;

test("wrangler takes the configuration, and the upload has room", (t) => {
  assert.ok(existsSync(`${cwd}node_modules`), 'wrangler is missing: "make examples/edge/node_modules"');
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false" };
  const output = execFileSync("node_modules/.bin/wrangler", ["deploy", "--dry-run"], { cwd, env, encoding: "utf8" });
  for (const binding of ["WATCHGLASS (ClusterObject)", "WATCHGLASS_REGIONS (RegionObject)", "ASSETS", "WATCHGLASS_CLUSTERS"]) {
    assert.ok(output.includes(`env.${binding}`), `${binding} is not among what it says: ${output}`);
  }
  const [sizes, whole, packed] = /Total Upload: ([\d.]+) KiB \/ gzip: ([\d.]+) KiB/.exec(output) ?? [];
  t.diagnostic(`${sizes}, of ${maxKiB} and once ${maxPackedKiB}`);
  assert.ok(Number(whole) < maxKiB && Number(packed) < maxPackedKiB, output);
});
