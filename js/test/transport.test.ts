import assert from "node:assert/strict";
import { test } from "node:test";
import { subprotocol } from "../src/subprotocol.js";
import { webSocketDial, type WebSocketClass } from "../src/transport.js";

/** A WebSocket whose server never responds. */
class Silent {
  static last: Silent;
  readonly protocol = subprotocol;
  readyState = 0;
  closes = 0;
  onopen: (() => void) | null = null;
  constructor() {
    Silent.last = this;
  }
  close(): void {
    this.closes++;
  }
}

const dial = webSocketDial(Silent as unknown as WebSocketClass);
const unexpected = (): never => assert.fail("an unexpected callback");
const url = "ws://127.0.0.1:5173/watch";

test("a WebSocket that does not open is reported with its URL", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const closed: string[] = [];
  dial(url, { opened: unexpected, data: unexpected, closed: (message) => void closed.push(message) }, "");
  t.mock.timers.tick(14_999);
  assert.deepEqual(closed, []);
  t.mock.timers.tick(1);
  assert.deepEqual(closed, [`${url} has not accepted a WebSocket for 15 s; check the URL, and that proxies and development servers forward WebSockets to the connector`]);
  assert.equal(Silent.last.closes, 1);
});

test("a WebSocket that opened, or was closed, is not reported as silent", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const events = { opened() {}, data: unexpected, closed: unexpected };
  dial(url, events, "");
  Silent.last.onopen!();
  dial(url, events, "").close("the program ends");
  t.mock.timers.tick(60_000);
});
