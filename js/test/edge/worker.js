// Routes /NAME/… to the object of that name, and trusts what a request says of
// its grant: tests are who checks tokens here.
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
    return env.EDGE.get(env.EDGE.idFromName(name)).fetch(new Request(url, request));
  },
};
