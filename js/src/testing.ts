/** The entry `watchglass/testing`, with an in-memory cluster for unit tests. */
export { TestCluster, type ObjectInput } from "./testing/cluster.js";
