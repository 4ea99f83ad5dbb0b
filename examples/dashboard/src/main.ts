import { connect } from "watchglass";
import { start } from "./start.ts";
import { storedToken } from "./token.ts";

const scheme = location.protocol === "https:" ? "wss:" : "ws:";

void start(() =>
  connect(`${scheme}//${location.host}/watch`, {
    token: storedToken(),
    wasm: new URL("watchglass.wasm", location.href),
    workerURL: new URL("worker.js", location.href),
  }),
);
