// Tests that compare the base64url functions with Node's implementation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeBase64url, decodeCanonicalBase64url, encodeBase64url } from "../src/base64url.js";

const samples = [[], [0], [255], [251, 239], [0xfb, 0xff, 0xbf], Array.from({ length: 256 }, (_, i) => i)].map((bytes) => Uint8Array.from(bytes));

test("bytes are encoded without padding, and decoded again", () => {
  for (const bytes of samples) {
    const text = encodeBase64url(bytes);
    assert.equal(text, Buffer.from(bytes).toString("base64url"));
    assert.deepEqual(decodeBase64url(text), bytes);
    assert.deepEqual(decodeCanonicalBase64url(text), bytes);
  }
});

test("only one text of the same bytes is canonical", () => {
  for (const text of ["YQ==", "YR", "YQ ", "+_8", "-/8"]) {
    assert.ok(decodeBase64url(text).length > 0, text);
    assert.equal(decodeCanonicalBase64url(text), undefined, text);
  }
});

test("other texts are refused", () => {
  for (const text of ["Y", "YQ=", "Y!Q", "ü", "YQ.YQ"]) {
    assert.throws(() => decodeBase64url(text), text);
    assert.equal(decodeCanonicalBase64url(text), undefined, text);
  }
  assert.equal(decodeCanonicalBase64url(undefined), undefined);
});
