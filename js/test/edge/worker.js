// Routes /NAME/… to the object of that name, and trusts the grant in a request, because
// these tests do not check tokens. A connector, which can only send a token, sends the
// grant as its token.
import unsafe from "workerd:unsafe";
import { WatchglassObject } from "./edge.js";

const kind = (options) =>
  class extends WatchglassObject {
    #state;

    constructor(state, env) {
      super(state, env, typeof options === "function" ? options(env, state) : options);
      this.#state = state;
    }

    async fetch(request) {
      const { sql } = this.#state.storage;
      switch (new URL(request.url).pathname) {
        case "/damage":
          sql.exec("UPDATE chunks SET data = zeroblob(length(data)) WHERE number = 0");
          return Response.json({});
        case "/damage-bodies":
          sql.exec("UPDATE bodies SET data = zeroblob(length(data))");
          return Response.json({});
        case "/break": // the object loses its connections and unsaved data
          return this.#state.abort("a test breaks it");
        case "/grow": // takes effect after the next start
          sql.exec("CREATE TABLE grown (here)");
          return Response.json({});
        case "/largest":
          return Response.json(sql.exec("SELECT max(length(data)) AS bytes FROM (SELECT data FROM chunks UNION ALL SELECT data FROM bodies)").one());
      }
      return super.fetch(request);
    }
  };

// The first part of an object's name selects one of these classes. Edge has the default options.
export const Edge = kind({});
export const Full = kind({ storageBytes: 30_000 });
export const Scarce = kind({ memoryBytes: 50_000 });
export const Growing = kind((_env, { storage: { sql } }) => ({
  memoryBytes: sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'grown'").toArray().length > 0 ? 500_000 : 50_000,
}));
export const Tiny = kind({ memoryBytes: 1_000 });
export const Seldom = kind({ progressMillis: 20_000 });
export const Impatient = kind({ stallMillis: 5_000 });
export const Patient = kind({ stallMillis: 20_000 });
export const Crowded = kind({ maxReaders: 3 });
export const Calm = kind({ messagesPerSecond: 5 });
export const Burdened = kind({ isolateBytes: 48 << 20 });
// An Outgrown object stores its state and releases memory only after the test has made all its
// changes.
export const Outgrown = kind({ isolateBytes: 32 << 20, quietMillis: 4_000, keepMillis: 600_000 });
export const Tight = kind({ isolateBytes: 8 << 20 });
export const Tightest = kind({ isolateBytes: 3 << 20 });
export const Lively = kind({ progressMillis: 3_000 });
export const Unused = kind({ unusedMillis: 15_000 });
// A Hasty object always ends while its alarm is handled.
export const Hasty = class extends kind({ unusedMillis: 12_000 }) {
  async alarm() {
    super.alarm();
    await new Promise(() => {});
  }
};
export const Former = kind({ unusedMillis: 15_000, upstream: { object: () => undefined, cluster: "test", resources: [] } });
export const Region = kind((env) => ({
  upstream: { object: () => env.EDGE.get(env.EDGE.idFromName("home")), cluster: "test", resources: ["v1/pods"] },
}));

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const [, name, ...rest] = url.pathname.split("/");
    url.pathname = `/${rest.join("/")}`;
    const inner = new Request(url, request);
    const [, token] = /^Bearer (.+)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
    if (token) inner.headers.set("x-watchglass-grant", token);
    const { [name.split("-")[0].toUpperCase()]: objects = env.EDGE } = env;
    const object = objects.get(objects.idFromName(name));
    if (url.pathname === "/evict") {
      await unsafe.evict(object, { webSockets: "hibernate" });
      return Response.json({});
    }
    return object.fetch(inner);
  },
};
