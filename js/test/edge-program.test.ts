// Tests of the start and the failures of the Go worker, in Node with fake objects.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { goProgram, type GoClass } from "../src/edge/program.js";
import { Writer } from "../src/wire/codec.js";
import { built, testdata } from "./paths.js";

const skip = existsSync(built("edge.wasm")) ? false : 'build/edge.wasm is missing; run "make worker"';

const { keys, now, vectors } = JSON.parse(readFileSync(testdata("tokens", "vectors.json"), "utf8"));
// The tokens of the vectors become valid in the future. Tests that need a valid token change the
// clock with atTheTime.
const { token } = vectors.find(({ name }: { name: string }) => name === "a token of the key before");

type Answer = (path: string, query: URLSearchParams) => Response;

async function worker(answer: Answer, env: object = {}) {
  await import(pathToFileURL(built("wasm_exec.js")).href);
  const { Go } = globalThis as unknown as { Go: GoClass };
  const program = goProgram<object>(await WebAssembly.compile(readFileSync(built("edge.wasm"))), Go);
  const requests: string[] = [];
  const objects = {
    idFromName: (name: string) => name,
    get: (name: string) => ({
      async fetch(request: Request) {
        const { pathname, searchParams } = new URL(request.url);
        requests.push(`${name}${pathname}`);
        return answer(pathname, searchParams);
      },
    }),
  };
  const request = (path: string) =>
    program(new Request(`http://edge${path}`, { headers: { Authorization: `Bearer ${token}` } }), { WATCHGLASS: objects, WATCHGLASS_KEY: keys, WATCHGLASS_CLUSTERS: '{"demo":{}}', ...env }, {});
  return { request, requests };
}

/** Calls `act` while Date returns a time at which the tokens of the vectors are valid. */
function atTheTime<T>(act: () => Promise<T>): Promise<T> {
  const Real = Date;
  const behind = now * 1000 - Real.now();
  class Moved extends Real {
    constructor(...given: []) {
      super(...(given.length > 0 ? given : ([Real.now() + behind] as unknown as [])));
    }
    static override now = () => Real.now() + behind;
  }
  globalThis.Date = Moved as DateConstructor;
  return act().finally(() => (globalThis.Date = Real));
}

const frame = (type: number, write: (w: Writer) => void): Uint8Array<ArrayBuffer> => {
  const w = new Writer();
  w.frame(type, write);
  return w.take();
};

/** The schema of pods, without fields and columns. */
const schema = frame(0x65, (w) => {
  w.uvarint(1);
  for (const text of ["", "v1", "pods", "Pod"]) w.text(text);
  w.bool(true);
  w.uvarint(0);
  w.uvarint(0);
});

/** Returns a page with one pod of the given size, and a continue token. */
const page = (size: number) => frame(0x6c, (w) => {
  w.uvarint(1);
  w.uvarint(7);
  w.text("more");
  w.uvarint(1);
  w.uvarint(1);
  w.uvarint(7);
  w.byte(0);
  w.uvarint(0);
  const envelope = new Writer();
  envelope.text("shop/one");
  envelope.byte(1); // no uid
  envelope.bytes(Uint8Array.of(0, 0));
  envelope.byte(1);
  const body = new TextEncoder().encode(`{"kind":"Pod","spec":"${"x".repeat(size)}"}`);
  w.bytes(Buffer.concat([envelope.take(), body]));
});

/** Returns a backend that serves the first page of a list and then fails. */
const broken = (size: number): Answer => (path) => {
  if (path === "/backend/schemas") return new Response(schema);
  let pulled = 0;
  const pull = (controller: ReadableStreamDefaultController): void => {
    if (pulled++ === 0) controller.enqueue(page(size));
    else controller.error(new Error("the object is gone"));
  };
  return new Response(new ReadableStream({ pull }));
};

test("an interrupted list does not look like a complete one", { skip }, async () => {
  await atTheTime(async () => {
    const { request, requests } = await worker(broken(200_000));
    const begun = await request("/clusters/demo/api/v1/namespaces/shop/pods");
    assert.equal(begun.status, 200);
    await assert.rejects(begun.text());
    assert.deepEqual(requests, ["demo/all/backend/schemas", "demo/all/backend/command"]);
    const early = await (await worker(broken(10))).request("/clusters/demo/api/v1/namespaces/shop/pods");
    assert.deepEqual([early.status, early.headers.get("Retry-After")], [503, "1"]);
  });
});

test("a failing object yields a 503 with Retry-After", { skip }, async () => {
  await atTheTime(async () => {
    for (const answer of [() => new Response("overloaded", { status: 500 }), () => new Response("garbage"), () => { throw new Error("no such object"); }]) {
      const { request } = await worker(answer as Answer);
      const response = await request("/clusters/demo/api/v1/namespaces/shop/pods");
      assert.deepEqual([response.status, response.headers.get("Retry-After")], [503, "1"]);
      assert.equal(((await response.json()) as { kind: string }).kind, "Status");
    }
  });
});

test("a misconfigured edge reports it without its key", { skip }, async () => {
  for (const env of [{ WATCHGLASS_KEY: "" }, { WATCHGLASS_KEY: "too-short" }, { WATCHGLASS_CLUSTERS: "{" }]) {
    const { request } = await worker(() => new Response(), env);
    const response = await request("/healthz");
    const text = await response.text();
    assert.equal(response.status, 500);
    assert.match(text, /"message":"the configuration of this edge is incomplete/);
    assert.doesNotMatch(text, /too-short/);
  }
});
