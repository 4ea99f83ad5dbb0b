// Prints the time that a collection takes to sync, and the memory that it uses.
import { connect } from "../../js/dist/node.js"; // in your project: from "watchglass"
import { printErrors } from "./errors.mjs";

const started = performance.now();
const wg = await connect(process.argv[2] ?? "ws://127.0.0.1:8080/watch");
const pods = wg.collection("v1/pods");
const stop = printErrors(pods);
await pods.synced;
stop();
const millis = Math.round(performance.now() - started);
const { "collection.1.usedBytes": bytes, "collection.1.objects": objects } = await wg.inspect();
console.log(`${objects} pods in ${millis} ms, ${Math.round(bytes / objects)} bytes each`);
wg.close();
