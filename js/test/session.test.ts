// Tests of a page that signs in to a real connector with an HttpOnly cookie, without a token.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import { launch, serve, skip, watchErrors } from "./browser.js";
import { Kubernetes } from "./kubernetes.js";
import { built } from "./paths.js";

const binary = built("watchglass");
const noConnector = skip || (existsSync(binary) ? false : "build/watchglass is missing: run make build");
const token = "a-session-token-of-thirty-two-bytes";

const discovery: Record<string, object> = {
  "/k8s/version": { gitVersion: "v1.36.3" },
  "/k8s/api": { kind: "APIVersions", versions: ["v1"] },
  "/k8s/apis": { kind: "APIGroupList", groups: [] },
  "/k8s/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [{ name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get", "list", "watch"] }],
  },
};

/** Starts a connector that serves one pod, and returns its address. */
async function startConnector(t: TestContext): Promise<string> {
  const kubernetes = await Kubernetes.start(t);
  kubernetes.instead = ({ url = "" }, response) => {
    const document = discovery[url.replace(/\?.*/, "")];
    if (document) response.end(JSON.stringify(document));
    return document !== undefined;
  };
  const folder = mkdtempSync(join(tmpdir(), "session-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "token"), token, { mode: 0o600 });
  const cluster = { name: "c", cluster: { server: kubernetes.url } };
  const contexts = [{ name: "c", context: { cluster: "c", user: "u" } }];
  writeFileSync(
    join(folder, "kubeconfig"),
    JSON.stringify({ apiVersion: "v1", kind: "Config", "current-context": "c", clusters: [cluster], contexts, users: [{ name: "u", user: {} }] }),
  );
  const flags = ["serve", "--kubeconfig", join(folder, "kubeconfig"), "--listen", "127.0.0.1:0", "--token-file", join(folder, "token"), "--auth-cookie", "session"];
  const child = spawn(binary, flags, { stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => child.kill());
  return new Promise((resolve, reject) => {
    let text = "";
    const collect = (chunk: Buffer): void => {
      text += chunk;
      const found = /watchglass serve: (http:\/\/[\d.:]+)/.exec(text);
      if (found) resolve(found[1]!);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("exit", (code) => reject(new Error(`the connector exited with ${code}: ${text}`)));
  });
}

declare global {
  // The global variables of a page.
  var synced: "pending" | "resolved" | "rejected";
}

/** Gives a page the session cookie of a user. */
const signIn = (page: Page, origin: string): Promise<void> =>
  page.context().addCookies([{ name: "session", value: token, url: origin, httpOnly: true, sameSite: "Lax" }]);

/** Opens a page on the connector's origin that loads the package and has no session. */
async function open(t: TestContext, origin: string): Promise<Page> {
  const browser = await launch();
  t.after(() => browser.close());
  const context = await browser.newContext();
  const page = await context.newPage();
  watchErrors(t).add(page);
  await context.route(`${origin}/test/**`, (route) => {
    const path = new URL(route.request().url()).pathname.replace("/test", "");
    const chunks: Buffer[] = [];
    const headers: Record<string, string> = {};
    let status = 200;
    const response = {
      setHeader: (name: string, value: string) => void (headers[name] = value),
      end: (body?: string | Buffer) => void chunks.push(Buffer.from(body ?? "")),
      set statusCode(code: number) {
        status = code;
      },
    };
    serve({ url: path } as never, response as never);
    return route.fulfill({ status, headers, body: Buffer.concat(chunks) });
  });
  await page.goto(`${origin}/healthz`); // a document that a route fulfills may not request local addresses
  await page.evaluate(async () => {
    const path = "/test/index.js";
    globalThis.watchglass = (await import(path)) as typeof watchglass;
  });
  return page;
}

/** Connects without a token and returns the names of the pods, or the error's code. */
const read = (page: Page, url: string): Promise<string> =>
  page.evaluate(async (url) => {
    try {
      globalThis.wg = await watchglass.connect(url, { identity: "ann", worker: "inline" });
      const pods = wg.collection("v1/pods");
      await pods.synced;
      const view = pods.view({ sort: "name" });
      await view.ready;
      return view.snapshot.rows.map((row) => row.key).join();
    } catch (error) {
      return String((error as { code?: number }).code ?? error);
    }
  }, url);

test("a page without a token reads with the session cookie of its user", { skip: noConnector }, async (t) => {
  const connector = await startConnector(t);
  const page = await open(t, connector);
  await signIn(page, connector);
  assert.equal(await page.evaluate(() => document.cookie), "", "scripts cannot read the cookie");
  assert.equal(await read(page, "/watch"), "default/web-1");
});

// A refusal for a missing session is temporary, because the user can sign in.
test("a page without a session is forbidden with 401, and synchronizes after a sign-in", { skip: noConnector }, async (t) => {
  const connector = await startConnector(t);
  const page = await open(t, connector);
  const codes = await page.evaluate(async () => {
    globalThis.wg = await watchglass.connect("/watch", { identity: "ann", worker: "inline" });
    globalThis.pods = wg.collection("v1/pods");
    globalThis.synced = "pending";
    pods.synced.then(() => (synced = "resolved"), () => (synced = "rejected"));
    globalThis.view = pods.view({ sort: "name" });
    const calls = [view.ready, pods.get("default/web-1"), pods.list()];
    return Promise.all(calls.map((call) => call.then(() => 0, (error: { code: number }) => error.code)));
  });
  assert.deepEqual(codes, [401, 401, 401]);
  await page.waitForFunction(() => pods.status.state === "forbidden");
  assert.deepEqual(await page.evaluate(() => [pods.status.error?.code, pods.status.error?.reason, synced, view.state]), [401, "Unauthorized", "pending", "error"]);

  await signIn(page, connector);
  await page.evaluate(() => wg.reconnect());
  await page.waitForFunction(() => synced !== "pending" && view.state === "ready");
  assert.deepEqual(await page.evaluate(() => [synced, view.snapshot.rows.map((row) => row.key).join()]), ["resolved", "default/web-1"]);
});
