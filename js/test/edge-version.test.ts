import assert from "node:assert/strict";
import { test } from "node:test";
import { otherVersion, upgradeRefused } from "../src/edge/sockets.js";
import { subprotocol } from "../src/subprotocol.js";

const upgrade = (offered?: string): Request =>
  new Request("http://edge/watch", { headers: { Upgrade: "websocket", ...(offered && { "Sec-WebSocket-Protocol": offered }) } });

test("a client of another version gets a status that names both and the remedy", () => {
  for (const version of ["watchglass.v1", "watchglass.v99"]) {
    const request = upgrade(`${version}, watchglass.bearer.dG9rZW4`);
    const refused = otherVersion(request.headers);
    assert.equal(refused?.reason, "ProtocolError");
    for (const part of [version, subprotocol, "same release", "reload the page"]) assert.ok(refused.message.includes(part), refused.message);
    assert.equal(upgradeRefused(request), undefined, "a browser needs a connection to receive the reason");
  }
});

test("a client that also offers this version is served", () => {
  assert.equal(otherVersion(upgrade(`watchglass.v1, ${subprotocol}`).headers), undefined);
});

test("a client that offers no version is refused", () => {
  for (const offered of [undefined, "chat", "watchglass.bearer.dG9rZW4"]) {
    assert.equal(otherVersion(upgrade(offered).headers), undefined);
    assert.equal(upgradeRefused(upgrade(offered))?.status, 400);
  }
});
