using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    # --directory-path says where.
    (name = "objects", disk = (writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);

const edge :Workerd.Worker = (
  compatibilityDate = "2026-10-01",
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "edge.js", esModule = embed "../../dist/edge.js"),
    (name = "watchglass.wasm", wasm = embed "../../dist/watchglass.wasm"),
  ],
  bindings = [
    (name = "EDGE", durableObjectNamespace = "Edge"),
    (name = "PLAIN", durableObjectNamespace = "Plain"),
    (name = "FORWARD", durableObjectNamespace = "Forward"),
  ],
  durableObjectNamespaces = [
    (className = "Edge", uniqueKey = "edge", enableSql = true),
    (className = "Plain", uniqueKey = "plain", enableSql = true),
    (className = "Forward", uniqueKey = "forward", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
);
