// Two ways to read in a worker. One reads while a response is streamed, from a connector or from
// Kubernetes itself. The other reads in a Durable Object, which outlives its requests.
import { connect, connectKubernetes } from "./workerd.js";

const lines = (view) => view.snapshot.rows.map((row) => `${row.name} ${row.cells.Status ?? row.columns[0]}`).join(", ") + "\n";

/** Streams every state of a view until the reader disconnects. */
async function follow(wg) {
  const view = wg.collection("v1/pods").view({ labelSelector: "app=web", sort: "name" });
  await view.ready;
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const text = new TextEncoder();
  const update = () => void writer.write(text.encode(lines(view))).catch(() => wg.close());
  view.subscribe(update);
  update();
  return new Response(readable);
}

/** Shares one connection among all requests. */
export class Reader {
  #pods;

  async fetch(request) {
    const { searchParams } = new URL(request.url);
    this.#pods ??= connect(searchParams.get("connector"), { token: "t0ken" }).then((wg) => wg.collection("v1/pods"));
    const pods = await this.#pods;
    await pods.synced;
    try {
      return Response.json(await pods.get(searchParams.get("key")));
    } catch (error) {
      return Response.json({ name: error.name, code: error.code, reason: error.reason }, { status: error.code });
    }
  }
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const options = { token: "t0ken" };
    if (pathname === "/follow") return follow(await connect(searchParams.get("connector"), options));
    if (pathname === "/direct") return follow(await connectKubernetes(searchParams.get("kubernetes"), options));
    return env.READER.get(env.READER.idFromName("one")).fetch(request);
  },
};
