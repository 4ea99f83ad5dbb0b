/** The entry `watchglass/testing`, with a cluster in memory for unit tests. */
export { TestCluster, type ObjectInput } from "./testing/cluster.js";
