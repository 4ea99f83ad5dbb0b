/** A cluster in memory, for unit tests. The entry `watchglass/testing`. */
export { TestCluster, type ObjectInput } from "./testing/cluster.js";
