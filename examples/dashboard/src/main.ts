import { connect } from "watchglass";
import { start } from "./start.ts";
import { storedToken } from "./token.ts";

const scheme = location.protocol === "https:" ? "wss:" : "ws:";

// A server without access control marks its page, because all tabs may then share an engine. Without
// a token and the mark, each tab has its own, because a cookie may be that of another user.
const open = document.querySelector('meta[name="watchglass-access"][content="everyone"]') !== null;

void start(() =>
  connect(`${scheme}//${location.host}/watch`, {
    token: storedToken(),
    ...(open && { identity: "everyone" }),
    wasm: new URL("watchglass.wasm", location.href),
    workerURL: new URL("worker.js", location.href),
  }),
);
