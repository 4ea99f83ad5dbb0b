import { decodeBase64url } from "../base64url.js";
import { subprotocol } from "../subprotocol.js";
import { bearerProtocol } from "../transport.js";
import type { Status } from "../types.js";
import { reject } from "./reject.js";
import { grantHeader, type Grant } from "./grant.js";
import { feeds, parseClusters, objectFor, route, type Wanted } from "./clusters.js";
import type { Fetcher } from "./platform.js";
import { refuse, status } from "./refusal.js";
import { region, type Objects } from "./regions.js";
import { offered, otherVersion } from "./sockets.js";
import { parseKeys, verify, type Claims } from "./token.js";

/** The bindings of an edge's Worker: its Durable Objects, its keys and its configuration. */
export interface EdgeEnv {
  /** The Durable Objects that connectors feed. */
  WATCHGLASS: Objects;
  /** The regional Durable Objects, if a cluster has regions. */
  WATCHGLASS_REGIONS?: Objects;
  /** The secret keys that sign tokens, separated by whitespace. */
  WATCHGLASS_KEY: string;
  /** The clusters as JSON; see host/edge. Default: one cluster, called "default". */
  WATCHGLASS_CLUSTERS?: string;
}

/** A function that responds to requests, like the `fetch` handler of a Worker. */
export type Handler<Env> = (request: Request, env: Env, context: unknown) => Response | Promise<Response>;

/**
 * Returns the entry of an edge, which is the default export of its Worker. It accepts the
 * WebSockets of readers and connectors at `/watch` and `/feed`, or `/clusters/NAME/watch` and
 * `/clusters/NAME/feed`. It passes other requests to `others`.
 *
 * It routes a WebSocket by its URL to the object that holds the data. Readers pass
 * `?resource=`, with `&namespace=` or `&shard=` if the resource is divided by namespace.
 * Connectors pass `?resources=` and `&shard=`; see `objectFor`. The object receives the
 * token's grant, which replaces any grant in the request. A connector's request without
 * an upgrade returns the objects that it must feed.
 *
 * Every response except a WebSocket has `X-Content-Type-Options: nosniff` and
 * `Cross-Origin-Resource-Policy: same-origin`. This includes the responses of
 * `others`.
 */
export function edgeEntry<Env extends EdgeEnv>(others: Handler<Env>): { fetch: Handler<Env> } {
  return {
    async fetch(request, env, context) {
      const url = new URL(request.url);
      const { cluster, rest } = route(url.pathname);
      if (rest !== "/watch" && rest !== "/feed") return protect(await others(request, env, context));
      try {
        return protect(await takeIn(request, env, url, cluster, rest));
      } catch (error) {
        console.error("watchglass:", error);
        return protect(refuse(status(500, "InternalError", "the configuration of this edge is incomplete; its log has the reason")));
      }
    },
  };
}

/**
 * Adds headers that prevent browsers from guessing the type of a response, and from embedding it in
 * pages of other origins. A connector's server sends the same headers.
 */
function protect(response: Response): Response {
  if (response.status === 101) return response; // a WebSocket, which a copy would lose
  const copy = new Response(response.body, response);
  copy.headers.set("X-Content-Type-Options", "nosniff");
  copy.headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return copy;
}

async function takeIn(request: Request, env: EdgeEnv, url: URL, cluster: string, path: "/watch" | "/feed"): Promise<Response> {
  const claims = await verify(await parseKeys(env.WATCHGLASS_KEY ?? ""), presented(request.headers), Date.now());
  const no = path === "/watch" ? reject : (_: Request, refused: Status) => refuse(refused);
  const other = otherVersion(request.headers);
  if (other) return no(request, other);
  if ("code" in claims) return no(request, claims);
  const wanted = parseQuery(url.searchParams);
  const forbidden = mayNot(claims, cluster, path, wanted);
  if (forbidden) return no(request, forbidden);
  const clusters = parseClusters(env.WATCHGLASS_CLUSTERS);
  if (path === "/feed" && !request.headers.has("Upgrade")) return feedList(feeds(clusters, cluster, wanted.resources));
  const home = objectFor(clusters, cluster, wanted);
  if ("code" in home) return no(request, home);
  if (home.shard) url.searchParams.set("shard", home.shard);
  const inner = new Request(`http://object${path}${url.search}`, request);
  inner.headers.delete("Authorization");
  // Pass on only the name of this protocol, because another offered subprotocol may contain the
  // token.
  if (offered(request.headers).includes(subprotocol)) inner.headers.set("Sec-WebSocket-Protocol", subprotocol);
  else inner.headers.delete("Sec-WebSocket-Protocol");
  inner.headers.set(grantHeader, ascii(JSON.stringify(claims satisfies Grant)));
  const { continent } = (request as { cf?: { continent?: string } }).cf ?? {};
  const near = path === "/watch" ? region(clusters, home.object, continent, Math.random()) : undefined;
  return find(env, home.object, near).fetch(inner);
}

function find({ WATCHGLASS: homes, WATCHGLASS_REGIONS: regions }: EdgeEnv, home: string, near: ReturnType<typeof region>): Fetcher {
  if (!near) return homes.get(homes.idFromName(home) as never);
  if (!regions) throw new Error("a cluster has regions, and the binding WATCHGLASS_REGIONS is missing");
  return regions.get(regions.idFromName(near.name) as never, near.hint ? { locationHint: near.hint } : {});
}

/** Returns a response that lists the URL parameters of the objects that a connector must feed. */
function feedList(objects: ReturnType<typeof feeds>): Response {
  return "code" in objects ? refuse(objects) : Response.json({ objects }, { headers: { "Cache-Control": "no-store" } });
}

function mayNot({ feed, cluster: granted, namespaces }: Claims, cluster: string, path: "/watch" | "/feed", { namespace }: Wanted): Status | undefined {
  if (feed && path === "/watch") return status(403, "Forbidden", "the token is for feeding, but /watch is for reading: mint one without --feed");
  if (!feed && path === "/feed") return status(403, "Forbidden", "the token is for reading, but /feed is for feeding: mint one with --feed");
  if (granted !== cluster) return status(403, "Forbidden", `the token is for another cluster than ${JSON.stringify(cluster)}`);
  if (namespace && !namespaces.includes("*") && !namespaces.includes(namespace)) {
    return status(403, "Forbidden", `the token does not grant reading in namespace ${JSON.stringify(namespace)}`);
  }
  return undefined;
}

/** Parses the query of a URL. */
function parseQuery(query: URLSearchParams): Wanted {
  const resources = [...query.getAll("resource"), ...query.getAll("resources").flatMap((list) => list.split(","))].filter(Boolean);
  return { resources, namespace: query.get("namespace"), shard: query.get("shard") };
}

/**
 * Returns the token of a request; empty if there is none. The token is in the Authorization header
 * or in the name of a subprotocol, because browsers cannot set headers of WebSockets.
 */
function presented(headers: Headers): string {
  const [, token] = /^bearer +(\S*) *$/i.exec(headers.get("Authorization") ?? "") ?? [];
  if (token !== undefined) return token;
  const name = offered(headers).find((name) => name.startsWith(bearerProtocol));
  if (name === undefined) return "";
  try {
    return new TextDecoder().decode(decodeBase64url(name.slice(bearerProtocol.length)));
  } catch {
    return "malformed";
  }
}

/** Escapes the characters of JSON that a header cannot contain. */
const ascii = (json: string): string => json.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
