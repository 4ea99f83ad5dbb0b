# The edge on this machine. The flags of workerd say where things are and where
# to listen: --directory-path=objects=… --directory-path=page=… and
# --socket-addr=http=…; the key and the clusters come from the environment.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    (name = "assets", worker = .assets),
    (name = "page", disk = (writable = false)),
    (name = "objects", disk = (writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);

const edge :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [
    (name = "worker.js", esModule = embed "../dist/worker.js"),
    (name = "watchglass.wasm", wasm = embed "../dist/watchglass.wasm"),
    (name = "edge.wasm", wasm = embed "../dist/edge.wasm"),
  ],
  bindings = [
    (name = "WATCHGLASS", durableObjectNamespace = "ClusterObject"),
    (name = "WATCHGLASS_REGIONS", durableObjectNamespace = "RegionObject"),
    (name = "WATCHGLASS_KEY", fromEnvironment = "WATCHGLASS_KEY"),
    (name = "WATCHGLASS_CLUSTERS", fromEnvironment = "WATCHGLASS_CLUSTERS"),
    (name = "ASSETS", service = "assets"),
  ],
  durableObjectNamespaces = [
    (className = "ClusterObject", uniqueKey = "watchglass", enableSql = true),
    (className = "RegionObject", uniqueKey = "watchglass-regions", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
);

# What the platform does by itself with the files of a worker.
const assets :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [(name = "assets.js", esModule = embed "assets.js")],
  bindings = [(name = "FILES", service = "page")],
);
