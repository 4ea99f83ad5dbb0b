// The parts of the main entry that few pages need. The entry loads them when they are used.
export { bootstrap } from "./bootstrap.js";
export { elect } from "./elect.js";
export { restore, takeSnapshot } from "./snapshot.js";
