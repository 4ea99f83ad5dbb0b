// Tests of the identity that determines which pages share an engine.

import assert from "node:assert/strict";
import { test } from "node:test";
import { identify } from "../src/identity.js";

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = (claims: object): string => `${encode({ alg: "RS256" })}.${encode(claims)}.c2lnbmF0dXJl`;

const ann = { iss: "https://issuer.example.com", sub: "ann-ü" };

test("pages of the same verified user have the same name", async () => {
  const names = async (options: Parameters<typeof identify>[0]): Promise<string> => (await identify(options)).name;
  assert.equal(await names({ identity: "ann" }), await names({ identity: "ann" }));
  assert.equal(await names({ token: "a" }), await names({ token: "a" }));
  assert.equal(await names({ token: () => jwt({ ...ann, exp: 1 }) }), await names({ token: async () => jwt({ ...ann, exp: 2 }) }));
  assert.equal(await names({ token: () => "x", identity: "ann" }), await names({ token: "y", identity: "ann" }));

  const different = await Promise.all([
    names({}),
    names({}),
    names({ token: "a" }),
    names({ token: "b" }),
    names({ token: "a", identity: "ann" }),
    names({ token: () => jwt(ann) }),
    names({ token: () => jwt({ ...ann, sub: "bob" }) }),
    names({ token: () => jwt({ ...ann, iss: "https://other.example.com" }) }),
  ]);
  assert.equal(new Set(different).size, different.length);
});

test("a page whose token function returns no JWT does not share its engine", async () => {
  for (const token of [() => "opaque", () => jwt({ sub: "ann" }), () => jwt({ iss: "", sub: "ann" }), () => "a.b.c", () => Promise.reject(new Error("signed out"))]) {
    const [first, second] = await Promise.all([identify({ token }), identify({ token })]);
    assert.notEqual(first.name, second.name);
  }
});

test("a token function is called once for the first token", async () => {
  let calls = 0;
  const user = await identify({ token: () => `opaque ${++calls}` });
  assert.deepEqual([await user.token(), await user.token(), calls], ["opaque 1", "opaque 2", 2]);
});

test("a token of another user is refused", async () => {
  let sub = "ann";
  const user = await identify({ token: () => jwt({ ...ann, sub }) });
  await user.token();
  sub = "bob";
  await assert.rejects(user.token(), { code: 401, message: /another user/ });
});
