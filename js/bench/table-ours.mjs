// Our side of the comparison in table.mjs: the React hook of the package, with an engine in a
// SharedWorker.
import { createElement as h } from "react";
import { createClient } from "../src/index.ts";
import { useView, WatchglassProvider } from "../src/react.ts";
import { show, Table, visible } from "./table-view.mjs";

const client = createClient("/watch");
const wg = await client.connect();

function Pods() {
  const { rows, schema } = useView("v1/pods", { sort: "-Restarts", limit: visible });
  const [phase, node] = ["status.phase", "spec.nodeName"].map((name) => schema?.fields.indexOf(name));
  const rowOf = ({ key, namespace, name, resourceVersion, cells, fields }) =>
    ({ key, version: resourceVersion, cells: [namespace, name, cells.Ready, fields[phase], cells.Restarts, fields[node]] });
  return h(Table, { rows: rows.map(rowOf) });
}

show(h(WatchglassProvider, { client }, h(Pods)));

/** Returns the version of the state that the table shows, or 0 if the collection is not live. */
globalThis.shown = () => {
  const [pods] = wg.opened();
  const { state } = pods?.collection.status ?? {};
  return state === "live" ? Number(pods.collection.progress.resourceVersion) : 0;
};
