// Routes /NAME/… to the object of that name, and trusts what a request says of
// its grant: tests are who checks tokens here. A connector, which can say nothing
// but a token, says it as that.
import { WatchglassObject } from "./edge.js";

export class Edge extends WatchglassObject {
  constructor(state, env) {
    super(state, env, { progressMillis: 60_000 });
  }
}

export default {
  fetch(request, env) {
    const url = new URL(request.url);
    const [, name, ...rest] = url.pathname.split("/");
    url.pathname = `/${rest.join("/")}`;
    const inner = new Request(url, request);
    const [, token] = /^Bearer (.+)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
    if (token) inner.headers.set("x-watchglass-grant", token);
    return env.EDGE.get(env.EDGE.idFromName(name)).fetch(inner);
  },
};
