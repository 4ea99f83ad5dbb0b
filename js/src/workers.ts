// The ways to start workers that most pages do not need. The main entry loads this file
// when it needs one.
export { bootstrap } from "./bootstrap.js";
export { elect } from "./elect.js";
