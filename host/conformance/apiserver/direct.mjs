// This program reads a Kubernetes API with the built package. For each line of its input, which
// names a resource, it prints the state of that resource as JSON. If "rows" precedes the resource,
// it prints the rows of a view of all objects instead.
import { createInterface } from "node:readline";
import { connectKubernetes } from "../../../js/dist/node.js";

const wg = await connectKubernetes(process.env.URL, { token: () => process.env.TOKEN });
const open = new Map();
for await (const line of createInterface(process.stdin)) {
  const [resource, rows] = line.split(" ").reverse();
  if (rows) {
    console.log(JSON.stringify(await rowsOf(resource)));
    continue;
  }
  if (!open.has(resource)) open.set(resource, wg.collection(resource));
  const collection = open.get(resource);
  const { state, error } = collection.status;
  const { items = [] } = state === "live" ? await collection.list() : {};
  const versions = Object.fromEntries(items.map(({ metadata: m }) => [m.namespace ? `${m.namespace}/${m.name}` : m.name, m.resourceVersion]));
  const { kind, namespaced } = collection.schema ?? {};
  const { "collection.1.relists": relists } = await wg.inspect();
  console.log(JSON.stringify({ state, error: error?.message ?? "", versions, objects: items, kind, namespaced, relists }));
}
wg.close();

async function rowsOf(resource) {
  const collection = wg.collection(resource, { metadataOnly: true });
  const view = collection.view({ limit: 10_000 });
  try {
    await Promise.all([collection.synced, view.ready]);
    const { rows, total } = view.snapshot;
    if (total !== rows.length) throw new Error(`the view has ${rows.length} of ${total} rows`);
    return { names: collection.schema.columns.map(({ name }) => name), rows: rows.map(({ namespace, name, columns, times }) => ({ namespace, name, columns, times })) };
  } finally {
    collection.close();
  }
}
