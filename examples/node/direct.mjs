// Prints the pods of a Kubernetes API by node, without a connector. Run kubectl proxy
// first.
import { connectKubernetes } from "../../js/dist/node.js"; // in your project: from "watchglass"
import { printErrors } from "./errors.mjs";

const wg = await connectKubernetes(process.argv[2] ?? "http://127.0.0.1:8001", { token: process.env.TOKEN });
const pods = wg.collection("v1/pods");
const view = pods.view({ facets: ["spec.nodeName"], limit: 1 });

printErrors(pods);
view.subscribe(() => {
  console.log(`${pods.status.state}, ${view.snapshot.total} pods`);
  for (const [node, count] of view.snapshot.facets["spec.nodeName"]?.values ?? []) console.log(`  ${node || "(none)"} ${count}`);
});
