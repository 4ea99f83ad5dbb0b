// Reads a Kubernetes API with the built package. Each line of its input names a
// resource, and the response is the state of that resource as JSON.
import { createInterface } from "node:readline";
import { connectKubernetes } from "../../../js/dist/node.js";

const wg = await connectKubernetes(process.env.URL, { token: () => process.env.TOKEN });
const open = new Map();
for await (const resource of createInterface(process.stdin)) {
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
