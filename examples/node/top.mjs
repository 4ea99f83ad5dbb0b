// Prints the five pods with the most restarts among those with the label app=web or app=api,
// whenever they change.
import { connect } from "../../js/dist/node.js"; // in your project: from "watchglass"
import { printErrors } from "./errors.mjs";

const wg = await connect(process.argv[2] ?? "ws://127.0.0.1:8080/watch");
const pods = wg.collection("v1/pods");
const view = pods.view({ labelSelector: "app in (web,api)", sort: "-Restarts", limit: 5 });

const restarts = (row) => row.columns[pods.schema.columns.findIndex((c) => c.name === "Restarts")];
printErrors(pods);
view.subscribe(() => {
  console.log(`${pods.status.state}, ${view.snapshot.total} pods match`);
  for (const row of view.snapshot.rows) console.log(`  ${row.key} ${restarts(row)}`);
});
