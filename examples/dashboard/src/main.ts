import { connect } from "watchglass";
import { start } from "./start.ts";

const scheme = location.protocol === "https:" ? "wss:" : "ws:";

void start(() =>
  connect(`${scheme}//${location.host}/watch`, {
    wasm: new URL("watchglass.wasm", location.href),
    workerURL: new URL("worker.js", location.href),
  }),
);
